"""Policies in a folder that are edited again and again, one in five so that nobody may take them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from random import Random

from tests.e2e.installation import SHIPPED
from tests.policies.breaking import BREAKS, numbered
from tests.policies.test_files import mount

ONE_IN = 5


class Edits:
    """The shipped policies for gangs, and two of our own that say by which edit they judge."""

    def __init__(self, directory: Path, random: Random) -> None:
        self.policies = directory / "policies"
        self._random = random
        self._good: set[int] = set()
        self.good = self.broken = 0
        shutil.copytree(SHIPPED / "gang", self.policies / "gang")
        self.edit(good=True)

    def edit(self, *, good: bool | None = None) -> None:
        """Write the next edit, as kubelet writes a ConfigMap; every fifth is broken unless it is said."""
        number = self.good + self.broken
        good = number % ONE_IN != ONE_IN - 1 if good is None else good
        texts = {f"{how}.yaml": _forbidding(how, number) for how in ("ignore", "fail")}
        if good:
            self._good.add(number)  # before it is written: from then on it may judge
            self.good += 1
        else:
            name = self._random.choice(list(texts))
            texts[name] = BREAKS[self._random.choice(list(BREAKS))](texts[name])
            self.broken += 1
        mount(self.policies / "edited", texts, str(number))

    def never_good(self, numbers: Iterable[int]) -> int | None:
        """Return the first of these edits that nobody may have taken."""
        return next((number for number in numbers if number not in self._good), None)


def _forbidding(how: str, number: int) -> str:
    """Return a policy that refuses what carries its label; under Ignore a webhook that was not reached lets it pass."""
    return numbered(
        f"forbidden-{how}.chaos.test", number, action="Deny", failure_policy=how.capitalize(), label=f"chaos.test/forbidden-{how}"
    )
