"""From an Answer to the AdmissionReview that the API server expects (``admission.k8s.io/v1``).

What the API server cannot take it drops with no more than a line in its own log, so it is brought into shape here:
a status code below 400 becomes 400 there, so one is always sent; a warning with a control character, such as the line break
of a quoted expression, becomes no header (apimachinery util/net NewWarningHeader); the key of an audit annotation is put behind
``<webhook>/`` and must then be a qualified name, so it holds no slash and 63 characters at most (apiserver pkg/admission/
attributes.go). Warnings are cut there to 256 runes each once they exceed 4,096 together, so the point comes first.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from hashlib import sha256
from typing import assert_never

from webhook.model.objects import Object
from webhook.model.verdicts import Admitted, Answer, Denied, Patched

_KEY_LIMIT, _MARK_LENGTH = 63, 8
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_.-]")
_CONTROL = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


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
        response["warnings"] = [_CONTROL.sub(" ", warning).strip() for warning in answer.trail.warnings]
    if answer.trail.audit_annotations:
        response["auditAnnotations"] = {audit_key(key): value for key, value in answer.trail.audit_annotations.items()}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def audit_key(key: str) -> str:
    """Return the key under which the API server takes an annotation that is ours, or a policy's as ``policy/key``.

    The slash becomes ``_``, which no policy's name holds; a key that is too long ends in a mark that keeps it unique.
    """
    flat = _NOT_IN_KEYS.sub("_", key)
    if len(flat) <= _KEY_LIMIT:
        return flat
    return f"{flat[: _KEY_LIMIT - _MARK_LENGTH - 1]}_{sha256(key.encode()).hexdigest()[:_MARK_LENGTH]}"
