"""Who may do what, from what somebody has asked before: rules wait for nobody, so what they must know is noted instead."""

from __future__ import annotations

from webhook.cel import EvaluationError
from webhook.model.access import AccessAnswer, AccessQuestion, Answers


class Inquiry:
    """Answers from what is known. Fits ``Authorizer``.

    A question without an answer is an error, like any that fails, and stands in ``open``: as long as there is one there, the
    verdict means nothing, and the same rules are to be asked again once it has been answered.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.open: dict[AccessQuestion, None] = {}
        """Questions to be asked, in the order in which they came up."""

    def authorize(self, question: AccessQuestion) -> AccessAnswer:
        """Answer; raises EvaluationError where it is not known, or cannot be told."""
        found = self._answers.known.get(question, self._answers.closed)
        if isinstance(found, AccessAnswer):
            return found
        if not found:
            self.open[question] = None
        what = question.path or f"{question.resource} of group '{question.group}'"
        raise EvaluationError(f"authorizer: whether {question.user.name} may {question.verb} {what} is not known: {found}")
