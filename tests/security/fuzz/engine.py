"""Runs one target under libFuzzer: instruments our code, watches what each input costs, keeps the one that breaks something."""

from __future__ import annotations

import faulthandler
import importlib
import mmap
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tests.security.fuzz.price import Price

SIZE_LIMIT = 64 * 1024
"""Longest input. What costs its square shows itself long before, and longer ones would take the time of many short ones."""
CPU_SECONDS = 60.0
"""After so much CPU for one input the kernel ends the process."""
LAST_INPUT = "last-input"
MUTATOR_FAILED = 70
_LENGTH = 8


class Target(Protocol):
    """What is fuzzed."""

    def run(self, data: bytes) -> None:
        """Hand one input over; raises whatever is wrong."""

    def mutate(self, data: bytes, random: random.Random) -> bytes | None:
        """Return an input changed in terms of its format; None: change its bytes."""


def load(name: str) -> Target:
    """Return a target, as an ordinary object."""
    return importlib.import_module(f"tests.security.fuzz.{name}").Target()  # type: ignore[no-any-return]


def fuzz(name: str, *, seeds: Path, work: Path, seconds: int, runs: int, seed: int) -> None:
    """Fuzz for so many seconds, and no more than so many inputs (-1: any); never returns.

    ``work`` takes the growing corpus, and the input at which the process ended.
    """
    import atheris

    with atheris.instrument_imports(include=["webhook"], enable_loader_override=False):
        target = load(name)
    price, last = Price(), LastInput(work / LAST_INPUT)
    faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)

    def one(data: bytes) -> None:
        last.keep(data)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        price.check(target.run, data)
        signal.setitimer(signal.ITIMER_PROF, 0)

    def change(data: bytes, size: int, number: int) -> bytes:
        source = random.Random(number)
        try:
            changed = target.mutate(data, source) if source.random() < 0.5 else None
        except BaseException:  # noqa: BLE001 - the library would wait for ever for a mutator that fails
            traceback.print_exc()
            os._exit(MUTATOR_FAILED)
        return atheris.Mutate(data, size) if changed is None else changed[:size]

    (work / "corpus").mkdir()
    arguments = [
        *(str(work / "corpus"), str(seeds)),
        *(
            f"-max_total_time={seconds}",
            f"-runs={runs}",
            f"-seed={seed}",
            f"-max_len={SIZE_LIMIT}",
            f"-dict={seeds}.dict",
            f"-artifact_prefix={work}/",
        ),
        *(f"-timeout={24 * 3600}", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"),
    ]
    _fuzz(atheris, [sys.argv[0], *arguments], one, change)


class LastInput:
    """The input at work, in a file that outlives the process however it ends."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(_LENGTH + SIZE_LIMIT))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    def keep(self, data: bytes) -> None:
        """Write the input down."""
        self._memory[:_LENGTH] = len(data).to_bytes(_LENGTH, "big")
        self._memory[_LENGTH : _LENGTH + len(data)] = data


def last_input(work: Path) -> bytes:
    """Return the input that was at work when the process ended."""
    kept = (work / LAST_INPUT).read_bytes()
    return kept[_LENGTH : _LENGTH + int.from_bytes(kept[:_LENGTH], "big")]


def _fuzz(atheris: Any, arguments: list[str], one: Callable[[bytes], None], change: Callable[[bytes, int, int], bytes]) -> None:
    atheris.Setup(arguments, one, custom_mutator=change, internal_libfuzzer=True)
    atheris.Fuzz()
