"""Where runs are kept, every record as it comes, and every answer that was paid for, read back as they were.

with open_store() as store, open_answers(store.database) as answers:
    scan = InputScan(store.database, "answers.jsonl", store.project)
    for case in read("answers.jsonl"):
        scan.add(case)
    identity = RunIdentity(scan.hexdigest(), ("groundedness",), {"supported": judge.fingerprint("supported")})
    number = store.unfinished(identity)
    run = store.resume(number) if number else store.begin(identity, input="answers.jsonl", rows=scan.rows, …)
    with run:
        for record in evaluate_sync(run.todo(read("answers.jsonl")), Cached(judge, answers), sink=run):
            …
        run.finish()
    for record in store.run("last").records():
        …
"""

from ragtriage.store.answers import Answers, open_answers
from ragtriage.store.checking import StoreCheck
from ragtriage.store.copying import CopiedRun
from ragtriage.store.lease import RunBusyError
from ragtriage.store.migrations import initialise_store, schema_in_use
from ragtriage.store.run_writer import RunWriter
from ragtriage.store.store import EVERY_PROJECT, Store, open_store, project_meant

__all__ = [
    "EVERY_PROJECT",
    "Answers",
    "CopiedRun",
    "RunBusyError",
    "RunWriter",
    "Store",
    "StoreCheck",
    "initialise_store",
    "open_answers",
    "open_store",
    "project_meant",
    "schema_in_use",
]
