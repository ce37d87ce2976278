"""Doors of which a part is imported when it is first asked for: a command that reads and judges once starts without the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def late_names(package: str, names_of: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """Return a package's ``__getattr__`` (PEP 562), by the names that each of its modules brings.

    What type checkers and linters see is an ordinary import under ``TYPE_CHECKING`` beside it.
    """
    modules = {name: f"{package}.{module}" for module, names in names_of.items() for name in names}

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return find
