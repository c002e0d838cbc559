"""What asking an object of a framework costs beside the object's own time, and what importing our modules costs.

    python bench/adapters.py            # with whichever frameworks are installed

The objects are those of tests/adapters: real local retrievers, and models that answer at once. Every question is asked
once by us and once as a user would, in turns; what is told is the median of the differences, in milliseconds of the
processor, which doesn't depend on what else the machine does.
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "adapters"))

from ragtriage import Case
from ragtriage.adapters.opening import application_of

QUESTION = "How long does the ferry to Ostrey take?"
ROUNDS = 400
IMPORTS = 15
CODE = "import time, ragtriage; a = time.process_time(); import ragtriage.{}; print((time.process_time() - a) * 1000)"


async def beside(app: Any, own: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """The median of the object's own milliseconds, and of the differences."""
    application = application_of("app", app)
    alone, difference = [], []
    for turn in range(ROUNDS + 20):
        begun = time.process_time()
        await own()
        between = time.process_time()
        await application.ask(Case("1", QUESTION))
        ended = time.process_time()
        if turn >= 20:  # the first ones load what is needed
            alone.append((between - begun) * 1000)
            difference.append((ended - between - (between - begun)) * 1000)
    return statistics.median(alone), statistics.median(difference)


def told(kind: str, app: Any, own: Callable[[], Awaitable[Any]]) -> None:
    """Print it of one object."""
    alone, difference = asyncio.run(beside(app, own))
    print(f"{kind:28} own {alone:7.3f} ms, beside it {difference:7.3f} ms a case")


def main() -> None:
    """Measure what is installed."""
    for name in ("langchain", "llama_index", "haystack"):
        code = CODE.format(name)
        took = [
            float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
            for _ in range(IMPORTS)
        ]
        print(f"import ragtriage.{name:12} {statistics.median(took):.2f} ms more")
    if find_spec("langchain_core"):
        from test_langchain_objects import chain  # noqa: PLC0415  # where it is installed

        told("LangChain chain", app := chain(), lambda: app.ainvoke(QUESTION))
    if find_spec("langgraph"):
        from test_langgraph_objects import generate, graph, retrieve  # noqa: PLC0415  # where it is installed

        state = graph(retrieve, generate)
        told("LangGraph graph", state, lambda: state.ainvoke({"question": QUESTION}))
    if find_spec("llama_index"):
        from test_llama_index_objects import Flow, engine  # noqa: PLC0415  # where it is installed

        queries, flow = engine(), Flow()

        async def run() -> Any:
            return await flow.run(user_msg=QUESTION)

        told("LlamaIndex query engine", queries, lambda: queries.aquery(QUESTION))
        told("LlamaIndex workflow", flow, run)
    if find_spec("haystack"):
        from test_haystack_objects import simple  # noqa: PLC0415  # where it is installed

        pipeline = simple()
        data = {"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}}

        async def steps() -> None:
            if not hasattr(pipeline, "run_async_generator"):
                await asyncio.to_thread(pipeline.run, data)
                return
            async for _ in pipeline.run_async_generator(data):
                pass

        told("Haystack pipeline", pipeline, steps)


if __name__ == "__main__":
    main()
