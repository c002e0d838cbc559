"""The cases and the judge of the tests of the store are those of these tests too, and the commands' model."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE.parent / "cli", HERE.parent / "store", HERE):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
# actors of a cluster look for the judges where these tests do
os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (HERE, HERE.parent, HERE.parent / "store")))
