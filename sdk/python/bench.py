"""Measures the package beside bare httpx, against the server of PENSTOCK_BASE_URL; `make bench` runs it.

    bench.py RUN EVENTS

RUN is a run with at least EVENTS events in its log. Prints one JSON object: the median time of a GET in
seconds (by the package, by httpx alone), that of an import on top of httpx's and pydantic's, and the
bytes that Python holds more after all events than after the first thousand.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import httpx

from penstock import Penstock

CALLS = 1000
TURN = 50
IMPORTS = 15


def in_turns(*calls: Callable[[], object]) -> list[float]:
    """The median of each call, in seconds; they take turns, so that the machine is the same to all."""
    took: list[list[float]] = [[] for _ in calls]
    for _ in range(CALLS // TURN):
        for times, call in zip(took, calls, strict=True):
            for _ in range(TURN):
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in took]


def overhead(client: Penstock, run: str) -> dict[str, float]:
    """A GET by the package, and the same by httpx alone with the JSON read."""
    url = f"{os.environ['PENSTOCK_BASE_URL']}/api/v1/agent/runs/{run}"
    headers = {"Authorization": f"Bearer {os.environ['PENSTOCK_API_KEY']}"}
    with httpx.Client(headers=headers) as http:
        calls: tuple[Callable[[], object], ...] = (
            lambda: client.runs.get(run),
            lambda: http.get(url).json(),
        )
        for call in calls:
            call()
        ours, bare = in_turns(*calls)
    return {"get": ours, "bare_get": bare}


def import_time() -> float:
    """What the package takes of a processor on top of what it stands on, in processes of their own."""
    script = (
        "import time, httpx, pydantic; start = time.process_time(); import penstock; "
        "print(time.process_time() - start)"
    )
    return statistics.median(
        float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(IMPORTS)
    )


def growth(client: Penstock, run: str, events: int) -> int:
    """How much more is held after all events than after the first thousand."""
    with client.runs.events(run) as stream:
        for _ in range(1000):
            next(stream)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(events - 1000):
            next(stream)
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return after - before


def main() -> None:
    run, events = sys.argv[1], int(sys.argv[2])
    with Penstock() as client:
        figures = {**overhead(client, run), "import": import_time()}
        figures["growth"] = growth(client, run, events)
    json.dump(figures, sys.stdout)


if __name__ == "__main__":
    main()
