"""The working memory of one evaluation: a list that holds the activation, the budget, and a slot for each loop variable.

Loops of one expression are strictly nested, so each variable has its slot for itself and a flat list does for all of them.
A frame belongs to one call of ``Program.evaluate``; that is all there is to being safe for threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Frame: TypeAlias = list[Any]
Closure: TypeAlias = Callable[[Frame], Any]

ACTIVATION, BUDGET, FIRST_SLOT = 0, 1, 2
