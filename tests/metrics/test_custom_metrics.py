"""Metrics of one's own are found where they are named, and what is wrong with them is said in full."""

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ragtriage import ConfigError, metrics_named
from ragtriage.metrics.custom_metrics import installed_metric, names_in, resolved_in
from ragtriage.metrics.thelma import groundedness

GOOD = '''
from ragtriage import Decompose, Match, metric, share

SUPPORTED = Match(Decompose("response", "claims"), "supported", "sources")


@metric(title="One", fault="not one", support=SUPPORTED)
def one(support):
    """The first."""
    return share(support.components, support.best())


@metric(title="Two", name="second", better="lower", support=SUPPORTED)
def two(support):
    """The second."""
    return share(support.components, support.best(), good="no")


def three(support):
    """No metric."""
'''

Writing = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Writing:
    """Writes a file into the present folder."""
    monkeypatch.chdir(tmp_path)

    def written(text: str, name: str = "mine.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


def names(*given: str) -> list[str]:
    return [m.name for m in metrics_named(given)]


def refused(*given: str) -> str:
    with pytest.raises(ConfigError) as caught:
        metrics_named(given)
    return str(caught.value)


def test_a_file_is_named_with_the_metric_in_it(write: Writing) -> None:
    write(GOOD)
    (found,) = metrics_named(["mine.py:one"])

    assert (found.name, found.title, found.fault, found.about) == ("one", "One", "not one", "The first.")
    assert found.origin == "mine.py:one"


def test_several_are_mixed_with_names_groups_and_exclusions(write: Writing) -> None:
    write(GOOD)

    assert names("mine.py:one", "groundedness", "mine.py:second") == ["groundedness", "one", "second"]
    assert names("thelma", "-groundedness", "mine.py:one")[-2:] == ["self_distinctness", "one"]
    assert names("groundedness", "mine.py:one", "mine.py:one") == ["groundedness", "one"]
    assert names("groundedness", "mine.py:one", "-one") == ["groundedness"]
    assert names("groundedness", "mine.py:one", "-mine.py:one") == ["groundedness"]


def test_what_is_taken_out_is_not_run(write: Writing) -> None:
    write("raise SystemExit('it was run')")

    assert names("groundedness", "-mine.py:one") == ["groundedness"]


def test_a_module_of_the_present_folder_is_found(write: Writing) -> None:
    write(GOOD, "own_package_a/metrics.py")

    assert names("own_package_a.metrics:one") == ["one"]
    assert str(Path.cwd()) not in sys.path


def test_a_file_may_import_what_lies_beside_it_and_hides_nothing(write: Writing) -> None:
    write("WORD = 'beside'", "folder/helper_beside.py")
    write("raise ImportError('this hides the installed one')", "folder/json.py")
    write("import json\nfrom helper_beside import WORD\n" + GOOD.replace('"One"', "WORD"), "folder/mine.py")

    assert metrics_named(["folder/mine.py:one"])[0].title == "beside"


def test_the_same_file_is_run_once_and_a_changed_one_again(write: Writing) -> None:
    path = write(GOOD)
    first, again = (metrics_named(["mine.py:one"])[0] for _ in range(2))
    write(GOOD.replace("not one", "changed"))
    (changed,) = metrics_named([f"{path}:one"])

    assert first.compute is again.compute
    assert changed.fault == "changed"


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (GOOD, "none.py:one", "none.py:one: none.py can't be read: No such file or directory; give the path from"),
        (GOOD, "mine.py:four", "mine.py has no metric 'four'; its metrics are: one, second"),
        ("x = 1", "mine.py:four", "mine.py has no metric 'four'; it has none: put @metric(title=…) above a function"),
        (GOOD, "mine.py:two", "mine.py: the metric 'two' calls itself 'second': write mine.py:second"),
        (GOOD, "mine.py:three", "mine.py: 'three' is <function three at"),
        (GOOD, "mine.py:", "'mine.py:' names no metric: write my_metrics.py:name or my_package.module:name"),
        (GOOD, ":one", "':one' names no metric"),
        (GOOD, "no_such_package.x:one", "there is no module 'no_such_package', installed or in the present folder"),
        (GOOD, "json.nothing:one", "there is no module 'json.nothing'"),
        (GOOD, "json:dumps", "json: 'dumps' is <function dumps"),
        ("\n\n1 / 0", "mine.py:one", "can't be loaded: mine.py, line 3: ZeroDivisionError: division by zero"),
        ("\ndef f(:", "mine.py:one", "can't be loaded: mine.py, line 2: SyntaxError: "),
        ("import no_such_module", "mine.py:one", "mine.py, line 1: ModuleNotFoundError: No module named 'no_such_"),
        ("raise SystemExit(3)", "mine.py:one", "mine.py, line 1: SystemExit: 3"),
        (GOOD.replace("def one(support)", "def one(other)"), "mine.py:one", "line 7: metric 'one' takes ['other'] but"),
        (GOOD.replace('fault="not one"', "range=(1, 5)"), "mine.py:one", "metric 'one' has the range (1, 5): give"),
        (GOOD.replace('fault="not one"', 'name="groundedness"'), "mine.py:groundedness", "the name of a built-in"),
        (GOOD.replace('fault="not one"', 'name="faithfulness"'), "mine.py:faithfulness", "the name of a built-in"),
        (GOOD.replace('fault="not one"', 'name="thelma"'), "mine.py:thelma", "rename yours, or its name with @metric"),
        (GOOD.replace('fault="not one"', 'name="a-b"'), "mine.py:a-b", "'a-b' can't be a metric's name: use letters"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(write: Writing, text: str, place: str, told: str) -> None:
    write(text)

    assert told in refused(place)


def test_a_module_that_raises_is_told_with_its_line(write: Writing) -> None:
    write("import json\n\nraise ValueError('odd')", "own_module_b.py")

    assert "own_module_b:one can't be loaded: own_module_b.py, line 3: ValueError: odd" in refused("own_module_b:one")


def test_two_metrics_of_one_name_are_refused(write: Writing) -> None:
    write(GOOD)
    write(GOOD.replace("not one", "other"), "other.py")

    assert "mine.py:one and other.py:one: two metrics have one name" in refused("mine.py:one", "other.py:one")


def test_names_are_known_without_loading() -> None:
    assert names_in(["thelma", "-fact_precision", "nowhere.py:a", "package.module:b"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("mine.py:one", "/settings/mine.py:one"),
        ("-mine.py:one", "-/settings/mine.py:one"),
        ("/else/mine.py:one", "/else/mine.py:one"),
        ("package.module:one", "package.module:one"),
        ("groundedness", "groundedness"),
    ],
)
def test_a_file_in_the_settings_is_meant_beside_them(given: str, meant: str) -> None:
    assert resolved_in(given, Path("/settings")) == meant


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Installs a package with these entry points, as an installer leaves it."""
    site = tmp_path / "site"
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])

    def install(points: str, name: str = "ragtriage-more") -> None:
        folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (folder / "entry_points.txt").write_text(f"[ragtriage.metrics]\n{points}\n", encoding="utf-8")
        (site / "installed_metrics_c.py").write_text(GOOD, encoding="utf-8")

    return install


def test_an_installed_metric_is_known_by_its_bare_name(package: Callable[[str], None]) -> None:
    package("one = installed_metrics_c:one")

    assert names("groundedness", "one") == ["groundedness", "one"]
    assert names("groundedness", "one", "-one") == ["groundedness"]
    assert "did you mean one?" in refused("onee")


def test_an_installed_metric_with_our_name_is_never_taken_for_ours(package: Callable[[str], None]) -> None:
    package("groundedness = installed_metrics_c:one")

    assert metrics_named(["groundedness"]) == (groundedness,)


def test_two_packages_with_one_name_are_refused(package: Callable[..., None]) -> None:
    package("one = installed_metrics_c:one")
    package("one = installed_metrics_c:two", "ragtriage-others")

    assert "two installed packages offer a metric 'one'" in refused("one")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("json:dumps", "the installed metric 'one' (json:dumps) is <function dumps"),
        ("no_such_package_d:one", "can't be loaded: ModuleNotFoundError: No module named 'no_such_package_d'"),
    ],
)
def test_an_installed_metric_that_is_none_is_refused(value: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        installed_metric(EntryPoint("one", value, "ragtriage.metrics"), ())

    assert told in str(caught.value)


def test_an_entry_point_has_the_name_of_its_metric(write: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
    write(GOOD, "own_module_e.py")
    monkeypatch.syspath_prepend(str(Path.cwd()))

    with pytest.raises(
        ConfigError, match="is called 'second': its package must give the entry point the metric's name"
    ):
        installed_metric(EntryPoint("two", "own_module_e:two", "ragtriage.metrics"), ())
