"""The prompt files, one for each kind of question and one head for all: read, checked, and told apart by digest."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ragtriage.core.errors import ConfigError
from ragtriage.core.files import why_unreadable
from ragtriage.core.questions import Kind
from ragtriage.judges.llm.kinds import ASKED_KINDS

HEAD = "head"
ASKED: tuple[Kind, ...] = tuple(ASKED_KINDS)
"""The kinds that have a prompt file."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The words of a judge."""

    head: str
    """The system prompt, with the user's guidance behind it."""
    kinds: Mapping[Kind, str]
    """Kind → its paragraph."""

    def digest(self, kind: Kind) -> str:
        """Changes with the head, the guidance or this kind's paragraph and with nothing else; 12 hexadecimal digits."""
        words = f"{self.head}\0{self.kinds[kind]}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(words, digest_size=6).hexdigest()

    def versioned_digest(self, kind: Kind) -> str:
        """The digest with the version of the kind, but for the first version, which isn't written."""
        version = ASKED_KINDS[kind].version
        return self.digest(kind) + (f".{version}" if version > 1 else "")


def read_prompts(folder: Path | None = None, guidance: Path | None = None) -> Prompts:
    """The project's own prompts, or a user's in place of those that the folder has.

    The folder's files are named like the kinds (`supported.md`) or `head.md`; the guidance is put behind the head.
    """
    own = _own(folder) if folder else {}
    texts = {name: own.get(name) or _text(files(__package__).joinpath(f"{name}.md").read_text("utf-8"), name)
             for name in (HEAD, *ASKED)}  # fmt: skip
    head = texts.pop(HEAD)
    return Prompts(head + read_guidance(guidance), {kind: texts[kind] for kind in ASKED})


def read_guidance(file: Path | None) -> str:
    """What is put behind a head: the user's guidance under its own line; nothing without a file."""
    if file is None:
        return ""
    advice = _read(file).strip()
    if not advice:
        raise ConfigError(f"the guidance {file} is empty: write what is essential, what abbreviations mean", "guidance")
    return f"\n\nGuidance from the owner of the application:\n{advice}"


def _own(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise ConfigError(f"the prompts' folder {folder} is no folder", "prompts")
    found = {}
    for path in sorted(folder.glob("*.md")):
        if path.stem not in (HEAD, *ASKED):
            raise ConfigError(f"{path}: there is no such prompt; there are: {', '.join((HEAD, *ASKED))}")
        found[path.stem] = _text(_read(path), str(path))
    if not found:
        raise ConfigError(f"the folder {folder} holds no prompt: name files {HEAD}.md, {ASKED[0]}.md, …", "prompts")
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {why_unreadable(error)}") from error


def _text(content: str, where: str) -> str:
    text = content.strip()
    if not text or text.startswith("version:"):  # an earlier form, which the model would be sent
        raise ConfigError(f"{where}: write the prompt's text alone, without a line `version: N`")
    return text
