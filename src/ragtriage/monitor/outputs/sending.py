"""A run's scores to tools, each once: what was sent stands in the outbox, and isn't sent again unless it changed."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from ragtriage.monitor.outputs.channel import ToolChannel, ToolReply, Unreached
from ragtriage.monitor.outputs.entries import UNDEFINED, Entry, EntryKind, Environment, NotSent, ToolRequest
from ragtriage.monitor.outputs.scores import RunScores
from ragtriage.store.watch_tables import REFUSED, SENDING, SENT, WAITING, Outbox, OutboxEntry

Settled = dict[bytes, OutboxEntry]
"""What became of entries, by their keys."""
PORTION = 1_000
"""Entries that are looked up, sent and written down together."""
MOST_FAILURES = 3
"""Requests in a row without an answer after which a tool isn't tried any more."""


@dataclass
class Delivered:
    """What became of the scores of one run, or of several, at one tool."""

    name: str
    title: str
    address: str
    sent: Counter[EntryKind] = field(default_factory=Counter)
    """Those that it has now and hadn't, or had otherwise."""
    before: int = 0
    """Those that it had already."""
    undefined: int = 0
    """Scores without a value that weren't sent, as it takes none."""
    left_out: Counter[str] = field(default_factory=Counter)
    """What it has no place for: reason → count."""
    refused: Counter[str] = field(default_factory=Counter)
    """What it didn't take, now or before: reason → count."""
    said: dict[str, str] = field(default_factory=dict)
    """Reason → what it said of the first."""
    left: int = 0
    """What is still to be sent."""
    why: str = ""
    """Why."""
    without_trace: int = 0
    """Cases that have no trace, so that nothing of them can be sent."""

    @property
    def complete(self) -> bool:
        """Whether all is there but scores without a value."""
        return not (self.left or self.refused or self.left_out)


class Delivery:
    """A run's scores on their way to one tool.

    With `retry_refused`, what was refused before is sent again. The counts go on in `earlier`, what became of other
    runs: where something of those is left, the tool isn't tried, and all that is to be sent waits. `advance` is called
    with each case that is through.
    """

    def __init__(
        self,
        scores: RunScores,
        channel: ToolChannel,
        outbox: Outbox,
        env: Environment,
        *,
        retry_refused: bool = False,
        earlier: Delivered | None = None,
        advance: Callable[[], object] = lambda: None,
    ) -> None:
        self._scores, self._channel, self._outbox = scores, channel, outbox
        self._tool = channel.destination
        self._by = replace(scores.by, project=self._tool.project_of(env))
        self._retry_refused, self._advance = retry_refused, advance
        self.done = earlier or Delivered(self._tool.name, self._tool.title, channel.shown)
        self._dead, self._failures = bool(self.done.left), 0
        self._turn = asyncio.Semaphore(self._tool.in_flight)

    async def deliver(self) -> Delivered:
        """Send what is to be sent; a tool that can't be reached raises nothing."""
        await self._ask_project()
        rest = chain(self._of_traces(), self._of_conversations())
        while portion := list(islice(rest, PORTION)):
            await self._send(portion)
        self.done.without_trace += self._scores.without_trace
        return self.done

    async def _ask_project(self) -> None:
        project = self._by.project
        if self._dead or project is None or self._tool.ask_project is None:
            return
        path, read = self._tool.ask_project(project)
        try:
            reply = await self._channel.ask(path)
        except Unreached as problem:
            self._give_up(problem)
            return
        found = None if reply.refused else read(reply.value)
        if found is None:
            self._give_up(Unreached(f"it knows no project {project!r}: see {self._tool.variables}"))
        self._by = replace(self._by, project=found)

    def _of_traces(self) -> Iterator[Entry]:
        for trace in self._scores:
            yield from self._counted(self._tool.entries(trace, self._by))
            self._advance()

    def _of_conversations(self) -> Iterator[Entry]:
        if self._tool.means:
            for mean in self._scores.means:
                yield from self._tool.means(mean, self._by)

    def _counted(self, found: Iterable[Entry | NotSent]) -> Iterator[Entry]:
        for one in found:
            if isinstance(one, Entry):
                yield one
            elif one.reason == UNDEFINED:
                self.done.undefined += 1
            else:
                self.done.left_out[one.reason] += 1

    async def _send(self, portion: Sequence[Entry]) -> None:
        """Send a portion, and write down what became of it."""
        known = self._outbox.find([entry.key for entry in portion])
        found: Settled = {}
        due: list[Entry] = []
        for entry in portion:
            before = known.get(entry.key)
            same = before is not None and before.body == entry.digest
            if before and same and before.state == SENT:
                self.done.before += 1
            elif before and same and before.state == REFUSED and not self._retry_refused:
                self.done.refused[before.reason or "refused"] += 1
            else:
                due.append(entry)
        remotes = {key: one.remote for key, one in known.items() if one.remote}
        if self._tool.find and not self._dead:
            unsure = [entry for entry in due if (one := known.get(entry.key)) and one.state == SENDING]
            remotes |= await self._had_already(unsure)
            # written down before it goes out: if this process is killed, the next one asks the tool what it has
            self._outbox.keep({e.key: OutboxEntry(e.digest, SENDING, remotes.get(e.key)) for e in due})
        await asyncio.gather(*(self._attempt(some, remotes, found) for some in self._packed(due, remotes)))
        for entry in due:
            if entry.key not in found:
                before = known.get(entry.key)
                state = SENDING if before and before.state == SENDING else WAITING  # nobody could look for it
                found[entry.key] = OutboxEntry(entry.digest, state, remotes.get(entry.key), self.done.why)
        self.done.left += sum(one.state in {WAITING, SENDING} for one in found.values())
        self._outbox.keep(found)

    async def _had_already(self, entries: Sequence[Entry]) -> dict[bytes, str]:
        """What the tool calls those of these entries that it has, though nobody wrote it down."""
        find = self._tool.find
        found: dict[bytes, str] = {}

        async def look(entry: Entry) -> None:
            if find is None:
                return
            path, read = find(entry)
            async with self._turn:
                if self._dead:
                    return
                try:
                    reply = await self._channel.ask(path)
                except Unreached as problem:
                    self._give_up(problem)
                    return
            if not reply.refused and (remote := read(reply.value)):
                found[entry.key] = remote

        await asyncio.gather(*map(look, entries))
        return found

    def _packed(self, entries: Sequence[Entry], remotes: Mapping[bytes, str]) -> Iterator[list[Entry]]:
        """Entries by request, in their order: of one path, as many as it may hold; what is changed alone."""
        by_path: dict[str, list[Entry]] = {}
        sizes: Counter[str] = Counter()
        for entry in entries:
            if self._tool.again and entry.key in remotes:
                yield [entry]
                continue
            size = len(entry.text.encode("utf-8", "replace")) + 100  # with what stands around it
            some = by_path.setdefault(entry.path, [])
            if some and (len(some) >= self._tool.most or sizes[entry.path] + size > self._tool.most_bytes):
                yield by_path.pop(entry.path)
                sizes[entry.path] = 0
                some = by_path.setdefault(entry.path, [])
            some.append(entry)
            sizes[entry.path] += size
        yield from by_path.values()

    async def _attempt(self, entries: list[Entry], remotes: dict[bytes, str], found: Settled) -> None:
        """Send entries in one request; those that aren't found afterwards wait."""
        first, again, find = entries[0], self._tool.again, self._tool.find
        remote = remotes.get(first.key) if again else None
        if again and remote:
            request, has = again(first, remote), None
        else:
            request = ToolRequest(self._tool.method, first.path, self._tool.body(entries))
            has = find(first) if find else None
        async with self._turn:
            if self._dead:
                return
            try:
                reply = await self._channel.exchange(request, has)
            except Unreached as problem:
                self._failures += 1
                if problem.dead or self._failures >= MOST_FAILURES:
                    self._give_up(problem)
                self.done.why = problem.reason
                if find:  # it may have arrived nevertheless
                    found[first.key] = OutboxEntry(first.digest, SENDING, remote, problem.reason)
                return
            self._failures = 0
        if reply.remote:  # it has it by an earlier try
            remotes[first.key] = reply.remote
        if remote and reply.status == 404:  # somebody deleted it there
            remotes.pop(first.key)
            await self._attempt(entries, remotes, found)
        elif self._has_it(reply) and not remote and (own := self._tool.remote(first, reply.value)):
            remotes[first.key] = own
            await self._attempt(entries, remotes, found)
        elif reply.refused:
            await self._refused(entries, reply, remotes, found)
        else:
            await self._taken(entries, reply, remotes, found)

    def _has_it(self, reply: ToolReply) -> bool:
        """Whether a refusal says that the tool has what was sent, under the id that we give it."""
        return reply.status == 409 and self._tool.again is not None and self._tool.repeatable

    async def _taken(self, entries: list[Entry], reply: ToolReply, remotes: dict[bytes, str], found: Settled) -> None:
        """Note what a tool took."""
        lost = min(self._tool.rejected(reply.value), len(entries))
        if lost and self._tool.repeatable:
            await self._refused(entries, reply, remotes, found)
            return
        for entry in entries:
            name = remotes.get(entry.key) or self._tool.remote(entry, reply.value)
            found[entry.key] = OutboxEntry(entry.digest, SENT, name)
            self.done.sent[entry.kind] += 1
        if lost:  # nobody says which: to send all of them again would double the others
            self.done.sent["score"] -= lost
            self._count_refused("it took a part of a batch", reply, lost)

    async def _refused(self, entries: list[Entry], reply: ToolReply, remotes: dict[bytes, str], found: Settled) -> None:
        """End what a tool doesn't take; of several those that its reply names, else they are tried by halves."""
        named = [entry for entry in entries if len(entries) == 1 or (reply.status == 404 and _names(reply, entry))]
        if named:
            reason = REASONS.get(reply.status, f"refused (HTTP {reply.status})")
            for entry in named:
                found[entry.key] = OutboxEntry(entry.digest, REFUSED, remotes.get(entry.key), reason)
            self._count_refused(reason, reply, len(named))
            mine = {entry.key for entry in named}
            rest = [entry for entry in entries if entry.key not in mine]
            parts = [rest] if rest else []
        else:
            half = len(entries) // 2
            parts = [entries[:half], entries[half:]]
        for part in parts:
            await self._attempt(part, remotes, found)

    def _count_refused(self, reason: str, reply: ToolReply, count: int) -> None:
        self.done.refused[reason] += count
        self.done.said.setdefault(reason, reply.said)

    def _give_up(self, problem: Unreached) -> None:
        self._dead, self.done.why = True, problem.reason


REASONS = {
    404: "it isn't known there (HTTP 404)",
    409: "it is there already, as somebody else's (HTTP 409)",
    413: "it is too large (HTTP 413)",
}
"""What a status code says of one entry; no words of the tool's, which may quote."""


def _names(reply: ToolReply, entry: Entry) -> bool:
    """Whether a reply names what an entry is of."""
    return re.search(rf"(?<![\w-]){re.escape(entry.of)}(?![\w-])", reply.text) is not None
