"""Render results for people and machines. Knows formats; decides nothing and reads nothing."""

from webhook.reports.machine import json_text, results_json
from webhook.reports.terminal import print_error, print_notes, print_overview, print_results, print_review, terminal

__all__ = [
    "json_text",
    "print_error",
    "print_notes",
    "print_overview",
    "print_results",
    "print_review",
    "results_json",
    "terminal",
]
