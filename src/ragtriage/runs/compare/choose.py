"""Which two sides are compared, and their comparison: the door for Python, for `compare` and for `evaluate --baseline`.

A side is named by runs (their numbers, `last`), a folder, or a baseline file; the base may be the nearest earlier run.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragtriage.core.errors import ConfigError, InputError, NotStoredError
from ragtriage.runs.compare.baseline import read_baseline
from ragtriage.runs.compare.compare import CompareOptions, compare
from ragtriage.runs.compare.comparison import Comparison
from ragtriage.runs.compare.sides import Side, called, rules_digest, side_of
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats import trials_of
from ragtriage.runs.run import Run, RunInfo, RunList

SHARED = 0.5
"""The share of the new side's cases that a run must have to be taken as its base."""
MOST_LOOKED_AT = 50
LAST = "last"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What one side is to be read from."""

    runs: tuple[Run, ...] = ()
    file: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in messages."""
        if self.file:
            return f"baseline {self.file}"
        sets = [run.info.address for run in self.runs if run.info.address]
        return ", ".join(sets) if sets else called([run.number for run in self.runs])


def is_run(text: str) -> bool:
    """Whether a side is named by runs: `last`, `7` or `4,5,6`; else it is a baseline file."""
    parts = [part.strip() for part in text.split(",")]
    return all(part == LAST or (part.isascii() and part.isdecimal()) for part in parts)


def choose_side(store: RunList | None, text: str, folder_run: Callable[[str], Run | None] = lambda _: None) -> Chosen:
    """What a side stands for, as it was typed.

    It is `last`, `7`, `4,5,6`, or a path or URL. `folder_run` gives None for what can't be a run in a folder.
    """
    if not is_run(text):
        if (found := folder_run(text)) is not None:
            return Chosen((found,))
        if not Path(text).is_file():
            raise InputError(f"{text!r} is neither a run nor a file: give a run's number, last, or a baseline file")
        return Chosen(file=Path(text))
    if store is None:
        raise NotStoredError("there is no store here: name a baseline file, or evaluate a file first")
    runs: list[Run] = []
    notes = []
    for part in dict.fromkeys(part.strip() for part in text.split(",")):
        run = store.run(part)
        if run.info.repeats is not None:
            notes.append(
                f"run {run.number} is a further trial of run {run.info.repeats}, which is taken with all trials"
            )
            run = store.run(run.info.repeats)
        runs += [trial for trial in trials_of(store, run) if trial.number not in {known.number for known in runs}]
    return Chosen(tuple(runs), notes=tuple(notes))


def choose_base(store: RunList, new: Chosen) -> Chosen:
    """The newest earlier complete run that shares at least half of the new side's cases."""
    found = earlier_run(store, new)
    if found is None:
        first = f"no complete run before {new.name} shares half of its cases"
        raise NotStoredError(f"{first}: evaluate the new version of the answers first, or name the run to compare with")
    return Chosen(tuple(trials_of(store, found)))


def earlier_run(store: RunList, new: Chosen) -> Run | None:
    """The run that `choose_base` takes; None if there is none."""
    if not new.runs:
        return None
    first = new.runs[0]
    candidates = [info.number for info in store.runs() if _may_be_base(info, new)][:MOST_LOOKED_AT]
    enough = SHARED * (first.info.done + first.info.failed)
    for number in candidates:  # one at a time: mostly the first will do
        if store.shared_cases(first.number, number, enough) >= enough > 0:
            return store.run(number)
    return None


def _may_be_base(info: RunInfo, new: Chosen) -> bool:
    return (
        info.number < min(run.number for run in new.runs)
        and info.complete
        and info.repeats is None
        and not info.by_tests
    )


def open_sides(
    both: tuple[Chosen, Chosen], reading: EvaluationConfig, options: CompareOptions, *, findings: bool
) -> tuple[list[Side], list[str]]:
    """Read the base and the new side with the same thresholds and rules, and what is to be known of them.

    Reading findings takes longest. The gates are checked first.
    """
    base, new = both
    options.gates.check(reading.metrics, reading.rules)
    named = {tag for tag in (options.cluster, options.by) if tag is not None}
    tags = sorted(named | {limit.slice[0] for limit in options.gates.fail_if_worse if limit.slice})
    if {run.number for run in base.runs} & {run.number for run in new.runs} or (base.file and base.file == new.file):
        raise ConfigError(
            f"both sides are {new.name}: give two that differ"
            if base.name == new.name
            else f"{base.name} and {new.name} have a run in common: give two sides that differ"
        )
    notes = [*base.notes, *new.notes]
    sides = []
    for chosen in both:
        if chosen.file is None:
            side = side_of(chosen.runs, chosen.name, tags, reading=reading if findings else None)
        else:
            side, _ = read_baseline(chosen.file)
            side, told = _as_it_was_made(side, reading, findings=findings)
            notes += told
        sides.append(side)
    return sides, notes


def _as_it_was_made(side: Side, reading: EvaluationConfig, *, findings: bool) -> tuple[Side, Sequence[str]]:
    """A baseline's findings can't be made again, so they must have been read with the same thresholds and rules."""
    if not findings or side.table.found is None:
        return replace(side, table=replace(side.table, found=None)), []
    if other := [*_other_thresholds(side, reading)]:
        raise ConfigError(
            f"{side.header.name} was made with the threshold{'s' if len(other) > 1 else ''} {', '.join(other)}, and "
            "its findings can't be read with others: make it anew with `ragtriage baseline`, or give --threshold so"
        )
    if side.rules != rules_digest(reading.rules):
        told = f"{side.header.name} was made with other rules, so findings aren't compared: make it anew"
        return replace(side, table=replace(side.table, found=None)), [told]
    return side, []


def _other_thresholds(side: Side, reading: EvaluationConfig) -> Iterator[str]:
    read = {m.name for m in side.metrics}
    for name, value in side.thresholds.items():
        if name in read and reading.thresholds.get(name) not in (None, value):
            yield f"{name}={value:g}"


def compare_chosen(
    base: Chosen, new: Chosen, reading: EvaluationConfig, options: CompareOptions, *, findings: bool = True
) -> Comparison:
    """Read two sides and compare them; the gates are checked first.

    Args:
        base: the old side.
        new: the new one.
        reading: the thresholds and rules that both are read with, and the metrics of the new side.
        options: how they are compared.
        findings: whether findings are compared too, which takes longest.

    Raises:
        ConfigError: a gate, a tag or a threshold that doesn't fit, or both sides are the same.
        InputError: they can't be paired or weren't judged alike, or a baseline can't be read.
        StoreError: a run can't be read.
    """
    (old, now), notes = open_sides((base, new), reading, options, findings=findings)
    found = compare(old, now, reading.rules, options)
    return replace(found, notes=(*notes, *found.notes))
