"""Render results for people and machines. Knows formats; decides nothing and reads nothing."""

from typing import TYPE_CHECKING

from webhook.late import late_names
from webhook.reports.lines import note_lines, result_lines, show

if TYPE_CHECKING:
    from webhook.reports.checked import input_diagnostics, result_diagnostics, result_suites
    from webhook.reports.github import github_annotations
    from webhook.reports.junit import JUnitCase, JUnitSuite, diagnostic_suites, junit_xml
    from webhook.reports.machine import API_VERSION, json_text, results_json
    from webhook.reports.sarif import sarif_json
    from webhook.reports.stories import story_json, story_lines
    from webhook.reports.styled import print_error, print_notes, print_overview, print_results, print_review, terminal
    from webhook.reports.trials import (
        TRIAL_RULES,
        print_coverage,
        print_trial_counts,
        print_trials,
        trial_diagnostics,
        trial_suites,
        trials_json,
    )

__all__ = [
    "API_VERSION",
    "TRIAL_RULES",
    "JUnitCase",
    "JUnitSuite",
    "diagnostic_suites",
    "github_annotations",
    "input_diagnostics",
    "json_text",
    "junit_xml",
    "note_lines",
    "print_coverage",
    "print_error",
    "print_notes",
    "print_overview",
    "print_results",
    "print_review",
    "print_trial_counts",
    "print_trials",
    "result_diagnostics",
    "result_lines",
    "result_suites",
    "results_json",
    "sarif_json",
    "show",
    "story_json",
    "story_lines",
    "terminal",
    "trial_diagnostics",
    "trial_suites",
    "trials_json",
]

if not TYPE_CHECKING:  # else it would take every name for one that is there
    __getattr__ = late_names(
        __name__,
        {
            "checked": ("input_diagnostics", "result_diagnostics", "result_suites"),
            "github": ("github_annotations",),
            "junit": ("JUnitCase", "JUnitSuite", "diagnostic_suites", "junit_xml"),
            "machine": ("API_VERSION", "json_text", "results_json"),
            "sarif": ("sarif_json",),
            "stories": ("story_json", "story_lines"),
            "styled": ("print_error", "print_notes", "print_overview", "print_results", "print_review", "terminal"),
            "trials": (
                "TRIAL_RULES",
                "print_coverage",
                "print_trial_counts",
                "print_trials",
                "trial_diagnostics",
                "trial_suites",
                "trials_json",
            ),
        },
    )
    """Of these forms a run needs one."""
