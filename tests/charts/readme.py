"""The chart's own README: its values, from the comments in ``values.yaml``, which so are written once.

``python -m tests.charts.readme`` writes it anew. A comment that begins with ``# --`` is of the key below it; keys of the
controller and of hooks that have none have that of the webhook's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.charts.helm import CHART

PATH = CHART / "README.md"
_KEY = re.compile(r"(?P<indent> *)(?P<name>[A-Za-z]+):(?P<value>.*)")
_HEAD = """# Gangwarden's chart

How to install, upgrade and uninstall is in [charts/README.md](../README.md). `values.schema.json` refuses keys and types
that are not below. Webhook configurations are not among the values: the replicas derive rules, matchConditions, selectors,
timeouts and failure policies from the [policies](../../policies/README.md), and write them themselves.

| value | default | meaning |
| --- | --- | --- |
"""


def text() -> str:
    """Return the page as it should be."""
    return _HEAD + "".join(f"| `{path}` | {default} | {said} |\n" for path, default, said in rows())


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield path, default and meaning of every value that somebody sets by itself."""
    values, said = yaml.safe_load((CHART / "values.yaml").read_text()), comments()
    for path, value in _leaves(values, said):
        meaning = next((said[one] for one in (path, *_alike(path)) if one in said), "")
        shown = "" if value in ("", None) else f"`{value if isinstance(value, str) else json.dumps(value)}`"
        yield path, shown.replace("|", "\\|"), meaning.replace("|", "\\|")


def comments() -> dict[str, str]:
    """Return the comment above each key that has one, by its path."""
    found: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    words: list[str] = []
    for line in (CHART / "values.yaml").read_text().splitlines():
        key = _KEY.match(line)
        if line.strip().startswith("# -- "):
            words = [line.strip().removeprefix("# -- ")]
        elif line.strip().startswith("# ") and words:
            words.append(line.strip().removeprefix("# "))
        elif key:
            path = [(indent, name) for indent, name in path if indent < len(key["indent"])] + [(len(key["indent"]), key["name"])]
            if words:
                found[".".join(name for _, name in path)] = " ".join(words)
            words = []
    return found


def _leaves(values: Any, said: dict[str, str], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what is set as one: what is no mapping, or one that is written in one line or explained as a whole."""
    for name, value in values.items():
        here = f"{path}.{name}" if path else name
        if isinstance(value, dict) and value and not _is_in_one_line(name) and not _is_a_whole(here, said):
            if here in said:
                yield here, None
            yield from _leaves(value, said, here)
        else:
            yield here, value


def _alike(path: str) -> Iterator[str]:
    """Yield the same value of the webhook's pods."""
    for part in ("controller.", "hooks."):
        if path.startswith(part):
            yield path.replace(part, "webhook.", 1)


def _is_a_whole(path: str, said: dict[str, str]) -> bool:
    """Tell whether a mapping is explained, and nothing in it is."""
    known = (path, *_alike(path))
    return any(one in said for one in known) and not any(each.startswith(f"{one}.") for each in said for one in known)


def _is_in_one_line(name: str) -> bool:
    return re.search(rf"^ +{name}: \{{.+\}}$", (CHART / "values.yaml").read_text(), re.MULTILINE) is not None


if __name__ == "__main__":
    PATH.write_text(text())
