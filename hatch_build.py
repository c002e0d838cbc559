"""What the package needs: the list in `pyproject.toml`, and the larger reader."""

import os
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VERSION = "1"
"""Of the larger reader."""


class Dependencies(MetadataHookInterface):
    """Builds the larger reader where it lies beside this file, as in a copy of the repository.

    A release names its version alone, and so does whoever has built it already (RAGTRIAGE_LARGER_READER=built).
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with the project's table."""
        beside = Path(self.root) / "larger_reader"
        built = os.environ.get("RAGTRIAGE_LARGER_READER") == "built" or not beside.exists()
        reader = f"=={VERSION}" if built else f" @ {beside.as_uri()}"
        metadata["dependencies"] = [f"ragtriage-larger-reader{reader}", *self.config["dependencies"]]
