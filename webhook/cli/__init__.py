"""Composition roots: one function joins the rooms of each command; the only readers of flags and of the environment."""

from webhook.cli.app import main

__all__ = ["main"]
