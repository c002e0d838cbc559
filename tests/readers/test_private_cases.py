"""What is hidden of a case before anything of it is written, and what isn't."""

from pathlib import Path

import pytest

from examples import examples
from ragtriage.core.case import Case, Source, Turn
from ragtriage.readers.private_cases import Privacy, UserDigests, hide_known_forms, redaction_named
from ragtriage.readers.problems import RowProblem


@pytest.mark.parametrize("row", examples("private_cases"))
def test_known_forms(row: dict[str, str]):
    assert hide_known_forms("query", row["text"]) == row["hidden"]


def test_long_words_cost_little():
    for word in ("a" * 300_000, "4" * 300_000, "4 " * 150_000, "de89 " * 60_000):
        assert hide_known_forms("query", f"{word}@ anna@example.org").endswith("@ [e-mail]")


def test_every_text_of_a_case_is_redacted_with_its_key():
    case = Case(
        "x",
        "q",
        (Source("s", "id"), Source("s")),
        "r",
        reference="f",
        history=(Turn("user", "h"),),
        samples=("m",),
        relevant_ids=("id",),
        tags={"user": "u", "conversation": "c", "note": ["n", {"deep": "d", "number": 4}], "seconds": 1.5},
    )
    found = Privacy(lambda named: f"digest of {named}", lambda key, text: f"{key}:{text}", plain_users=True).of(case)
    assert (found.query, found.response, found.reference) == ("query:q", "response:r", "reference:f")
    assert found.sources == (Source("source:s", "digest of id"), Source("source:s"))
    assert found.relevant_ids == ("digest of id",)
    assert (found.history, found.samples) == ((Turn("user", "history:h"),), ("sample:m",))
    assert found.tags == {
        "user": "u",
        "conversation": "digest of c",
        "note": ["note:n", {"deep": "note:d", "number": 4}],
        "seconds": 1.5,
    }
    assert Privacy(redact=lambda *_: "").of(Case("x", "q", None)).sources is None


def test_ids_that_redaction_leaves_stay_and_a_case_without_a_user_needs_no_key(tmp_path):
    case = Case("x", "q", (Source("s", "doc 7"),), tags={"conversation": "c-17"}, relevant_ids=("doc 7",))
    assert Privacy(lambda _: "a digest", hide_known_forms).of(case) == case

    digests = UserDigests(tmp_path / "store")
    case = Case("x", "q", tags={"user": ""})
    assert Privacy(digests).of(case) is case
    assert not (tmp_path / "store").exists()
    assert digests("u") == UserDigests(tmp_path / "store")("u") != digests("v")


@pytest.mark.parametrize(
    "name", ["user", "user_id", "userId", "user.id", "enduser.id", "langfuse_user_id", "userEmail"]
)
def test_every_tag_that_names_a_user_is_the_same_digest(name: str):
    def told(tags: dict[str, object], *, plain: bool = False) -> dict[str, object]:
        return dict(Privacy(lambda named: f"digest of {named}", plain_users=plain).of(Case("x", "q", tags=tags)).tags)

    assert told({name: "u", "made": [{name: 7}]}) == {name: "digest of u", "made": [{name: "digest of 7"}]}
    assert told({name: "u"}, plain=True) == {name: "u"}
    assert told({name: None}) == {name: None}


@pytest.mark.parametrize("name", ["score.user", "new_user", "user_type", "users", "trace_id"])
def test_tags_that_dont_name_a_user_stay(name: str):
    case = Case("x", "q", tags={name: "u"})
    assert Privacy(lambda _: "a digest").of(case) is case


def test_a_case_whose_redaction_fails_is_never_let_through():
    def fails(_: str, text: str) -> str:
        raise KeyError(text)

    with pytest.raises(RowProblem, match="KeyError") as caught:
        Privacy(redact=fails).of(Case("x", "anna@example.org"))
    assert "anna" not in str(caught.value)
    assert "anna" not in Privacy(redact=fails).reason("anna@example.org is no number")


@pytest.mark.parametrize(("body", "used"), [("time.sleep(0.11)", False), ("time.sleep(0.11 * (not calls))", True)])
def test_a_redaction_that_is_slow_twice_costs_the_case(tmp_path: Path, body: str, used: bool) -> None:
    (tmp_path / "mine.py").write_text(
        f"import time\ncalls = []\ndef hide(key, text):\n    {body}\n    calls.append(key)\n    return 'x'\n", "utf-8"
    )
    privacy = Privacy(None, redaction_named(f"{tmp_path / 'mine.py'}:hide"))
    if used:
        assert privacy.of(Case("x", "q", ())).query == "x"
        return
    with pytest.raises(RowProblem, match="its redaction took more than 100 ms for a text: it isn't used"):
        privacy.of(Case("x", "q", ()))
