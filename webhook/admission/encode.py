"""From an Answer to the AdmissionReview that the API server expects (``admission.k8s.io/v1``).

Limits are the API server's: warnings are cut to 256 runes each once they exceed 4,096 together
(apiserver pkg/endpoints/filters/warning.go), and a status code below 400 becomes 400, so it is always sent.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import assert_never

from webhook.model.objects import Object
from webhook.model.verdicts import Admitted, Answer, Denied, Patched


def encode_review(uid: str, answer: Answer, *, dump: Callable[[object], bytes]) -> Object:
    """Return the AdmissionReview for an answer; ``dump`` turns a patch into JSON."""
    response: Object = {"uid": uid, "allowed": not isinstance(answer, Denied)}
    match answer:
        case Admitted():
            pass
        case Patched():
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(dump(answer.patch)).decode()
        case Denied():
            response["status"] = {
                "status": "Failure",
                "message": answer.message,
                "reason": answer.reason,
                "code": answer.code,
            }
        case _:
            assert_never(answer)
    if answer.trail.warnings:
        response["warnings"] = list(answer.trail.warnings)
    if answer.trail.audit_annotations:
        response["auditAnnotations"] = answer.trail.audit_annotations
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
