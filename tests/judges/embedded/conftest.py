"""One embedded judge for all tests that only ask it: its models are loaded once."""

from collections.abc import Iterator

import pytest

from ragtriage.judges.embedded import EmbeddedJudge


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedJudge]:
    """It keeps texts that it has read, which changes no answer."""
    judge = EmbeddedJudge()
    yield judge
    judge.close()
