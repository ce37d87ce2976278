"""The API server's part in ``dev``: sends reviews over HTTPS, in its order, and reads the answers back as results."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jsonpatch

from webhook.admission import (
    Asker,
    DefaultsFiller,
    PolicySet,
    as_stored,
    created_objects,
    recorded_bound,
    request_for,
    review_of,
)
from webhook.admission.diff import diff
from webhook.cli.offline import Offline, placed
from webhook.errors import ReviewError
from webhook.groups import plan_recorded, recorded_names
from webhook.model.objects import Object
from webhook.model.requests import AdmissionRequest
from webhook.model.results import Result
from webhook.model.verdicts import Finding, Verdict
from webhook.policies import Manifest

_MUTATING, _VALIDATING = ("/mutate/fail", "/mutate/ignore"), ("/validate/fail", "/validate/ignore")
"""In the order in which the API server calls them, by our webhook configurations."""
_TIMEOUT_SECONDS = 30.0
_DENIAL = re.compile(r"\w+ ['\"](?P<policy>[^'\"]+)['\"](?: with binding '[^']+')? denied request: (?P<reason>.*)", re.DOTALL)
"""The API server's sentence about a denial, taken apart: the policy is shown in a place of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Calls one webhook on loopback, which it knows by its authority."""

    port: int
    authority: bytes

    async def admit(self, manifest: Manifest, policies: PolicySet, offline: Offline) -> tuple[Result, ...]:
        """Send a manifest through the mutating and the validating paths; the first refusal ends it, as in the API server."""
        return await asyncio.to_thread(self._admit, manifest, policies, offline)

    def _admit(self, manifest: Manifest, policies: PolicySet, offline: Offline) -> tuple[Result, ...]:
        complete = DefaultsFiller(offline.custom).fill
        obj = complete(placed(manifest, offline.default_namespace))
        request = request_for(obj, Asker())
        after, response = obj, dict[str, Any]()
        findings: list[Finding] = []
        for path in (*_MUTATING, *_VALIDATING):
            response = self._call(path, request.with_object(after))
            findings += _findings(response)
            if not response["allowed"]:
                break
            if response.get("patch"):
                after = complete(jsonpatch.apply_patch(after, json.loads(base64.b64decode(response["patch"]))))
        patch = diff(obj, after)
        if response["allowed"]:
            findings.insert(0, Finding(policy="", verdict=Verdict.ALLOW))
        attached = bool(patch) and response["allowed"]
        first, *others = findings
        head = Result(
            source=manifest.source,
            object=obj,
            finding=first,
            patch=patch if attached else None,
            patched=after if attached else None,
            creates=_created(after, policies, offline) if attached else None,
        )
        return (head, *(Result(source=manifest.source, object=obj, finding=finding) for finding in others))

    def _call(self, path: str, request: AdmissionRequest) -> Object:
        context = ssl.create_default_context(cadata=self.authority.decode())
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=_TIMEOUT_SECONDS, context=context)
        try:
            body = json.dumps(review_of(request)).encode()
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise ReviewError(f"{path} did not answer: {str(error) or type(error).__name__}") from error
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise ReviewError(f"{path} answered {answer.status}: {text.strip()}", status=answer.status)
        response: Object = json.loads(text)["response"]
        return response


def _findings(response: Object) -> Iterator[Finding]:
    if not response["allowed"]:
        message = response["status"]["message"]
        told = _DENIAL.fullmatch(message)
        policy, reason = (told["policy"], told["reason"]) if told else ("", message)
        yield Finding(policy=policy, verdict=Verdict.DENY, message=reason)
    for warning in response.get("warnings") or ():
        yield Finding(policy="", verdict=Verdict.WARN, message=warning)


def _created(after: Object, policies: PolicySet, offline: Offline) -> tuple[Object, ...] | None:
    """Return what the controller would create, by the same plan from the same record."""
    found = recorded_bound(policies, after)
    if found is None or not recorded_names(after):
        return None
    bound, binding = found
    stored = as_stored(after)
    return created_objects(stored, plan_recorded(bound.policy, binding, offline.situation(request_for(stored, Asker()))))
