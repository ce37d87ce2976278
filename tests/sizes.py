"""Print the sizes of files and functions, and fail beyond the caps (files 400 lines, functions 50).

Run as ``python -m tests.sizes``; `make lint` does. The figures keep the house honest: a file that grows past the
cap has a seam that nobody looked for.
"""

from __future__ import annotations

import ast
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE_CAP, FUNCTION_CAP = 400, 50


def main() -> int:
    """Return 1 when something is over its cap."""
    files, functions, over = [], [], []
    for path in sorted((ROOT / "webhook").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        length = text.count("\n")
        if length > 3:
            files.append(length)
        if length > FILE_CAP:
            over.append(f"{path.relative_to(ROOT)}: {length} lines, cap {FILE_CAP}")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                functions.append(size)
                if size > FUNCTION_CAP:
                    over.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {size} lines, cap {FUNCTION_CAP}")
    print(f"files: {figures(files)}; functions: {figures(functions)}")
    print("\n".join(over), file=sys.stderr) if over else None
    return 1 if over else 0


def figures(sizes: list[int]) -> str:
    """Return count, median, 90th percentile and maximum."""
    ninth = statistics.quantiles(sizes, n=10)[-1]
    return f"{len(sizes)} of median {statistics.median(sizes):.0f}, p90 {ninth:.0f}, max {max(sizes)} lines"


if __name__ == "__main__":
    sys.exit(main())
