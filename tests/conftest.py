"""What holds for all tests."""

import gc
import shutil
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# How long an example takes says nothing on a busy machine; the whole suite has a limit of its own. Few examples are
# enough, since every run tries others.
settings.register_profile("ragtriage", deadline=None, max_examples=30)
settings.load_profile("ragtriage")

# All tests, and all that they load, stay: to look for garbage among them again and again takes some time.
gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a store can't take isn't put into the developer's own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


# What a shell starts in the background ignores Ctrl-C, and so would every command that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless chromium; no longer than a module, since an event loop runs in this thread as long as it does."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on this machine: pages aren't looked at in a browser")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright isn't installed")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()
