"""Patterns that Python's own engine answers: just as RE2 does, whatever the text, and only where it cannot be made to go back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.cel import EvaluationError
from webhook.cel.library.regex import compile_pattern, matches
from webhook.cel.library.regex_plain import compile_plain

PLAIN = [
    "^[a-z]+-[0-9]+$", "^team-", "^v[0-9]+\\.[0-9]+$", "^registry\\.example\\.com/", "^[a-z]{2,3}[0-9]{2}$", "^[A-Z]?[a-z_]*$",
    "^a{0}b$", "^[a-z0-9.-]+$", "^[-a]?[b.]$", "^[a-z]{3}[a-z]+$", "^x{2,}y*z", "^a",
]  # fmt: skip
NOT_PLAIN = [
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "[a-z]+$", "^a*a$", "^[a-z]*b?[c-f]$", "^a+?b$", "^.*$", "^[^a]$", "^$", "^", "^a|b$",
    "^\\d+$", "^(?i)a$", "^[[:alpha:]]$", "^a{,3}$", "^é$", "^a$\n", "^a$$", "^^a$", "^[a-z]{1,2}[x-z]$", "^a?b*[ab]", "^a b$",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PLAIN)
def test_plain_ones(pattern: str) -> None:
    assert compile_plain(pattern) is not None


@pytest.mark.parametrize("pattern", NOT_PLAIN)
def test_what_is_left_to_re2(pattern: str) -> None:
    assert compile_plain(pattern) is None


CHARACTERS = [
    "a",
    "b",
    "z",
    "0",
    "9",
    "_",
    "-",
    "\\.",
    "\\-",
    "/",
    ":",
    ".",
    "[a-z]",
    "[0-9]",
    "[ab]",
    "[^a]",
    "[-b]",
    "[b-]",
    "[a-z0-9._-]",
]
TIMES = ["", "", "", "*", "+", "?", "{0}", "{1}", "{2}", "{0,1}", "{1,2}", "{2,}", "{,2}", "+?", "{3,2}"]
PATTERNS = st.builds(
    lambda start, parts, end: start + "".join(parts) + end,
    st.sampled_from(["^", "^", "^", ""]),
    st.lists(st.builds(str.__add__, st.sampled_from(CHARACTERS), st.sampled_from(TIMES)), max_size=4),
    st.sampled_from(["$", ""]),
)
TEXTS = st.text(st.sampled_from("aabz09_-./:\n\u00e9\ud800 A"), max_size=8)


@settings(max_examples=1_000, deadline=None)
@given(pattern=PATTERNS, texts=st.lists(TEXTS, min_size=5, max_size=5))
def test_the_answer_is_that_of_re2(pattern: str, texts: list[str]) -> None:
    try:
        compiled = compile_pattern(pattern)
    except EvaluationError:
        return
    plain = compile_plain(pattern)
    if plain is not None:
        assert [plain.match(text) is not None for text in texts] == [matches(compiled, text) for text in texts]


@pytest.mark.parametrize("pattern", PLAIN)
@pytest.mark.parametrize(
    "text", ["", "a", "ab", "ab1", "ab12", "ab12\n", "team-1", "v1.2", "v1.2x", "xxyz", "xxz", "b", "-b", "a-1", "a--1", "aé"]
)
def test_usual_patterns(pattern: str, text: str) -> None:
    plain = compile_plain(pattern)
    assert plain is not None
    assert (plain.match(text) is not None) is matches(compile_pattern(pattern), text)
