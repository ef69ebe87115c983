"""AdmissionReview (admission.k8s.io/v1): the question of an API server and the answer of the simulated Volcano."""

import base64
import json
from collections.abc import Mapping
from typing import Literal

import jsonpatch

from app.simulator.kinds import JOB, POD_GROUP, QUEUE, Kind
from app.simulator.objects import Object, clone
from app.simulator.volcano.admission import Denial, VolcanoAdmission

Step = Literal["mutate", "validate"]

_REVIEWED = {(kind.group, kind.plural): kind for kind in (JOB, POD_GROUP, QUEUE)}


def answer(review: Object, step: Step, queues: Mapping[str, Object]) -> Object:
    """Judge one request.

    Args:
        review: the AdmissionReview as the API server sends it.
        step: which of the two webhooks was called.
        queues: all Queues by name.

    Raises:
        KeyError, TypeError, AttributeError: the review is not one of an API server.
    """
    request = review["request"]
    try:
        response = _judged(request, step, queues)
    except Denial as denial:
        # without a code: a kube-apiserver makes 400 of it, as of the real Volcano's answers (volcano-traces 21)
        response = {"allowed": False, "status": {"message": denial.words}}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": request["uid"], **response},
    }


def is_denial(reviewed: Object) -> bool:
    """Whether an answer refuses."""
    return not reviewed["response"]["allowed"]


def _judged(request: Object, step: Step, queues: Mapping[str, Object]) -> Object:
    kind, operation = _kind(request), request["operation"]
    admission = VolcanoAdmission(lambda _kind, _namespace, name: queues.get(name), lambda _kind: list(queues.values()))
    old, new = request.get("oldObject"), request.get("object")
    if step == "validate":
        admission.validate(operation, kind, old, new)
        return {"allowed": True}
    changed = admission.mutate(operation, kind, old, clone(new))
    operations = jsonpatch.make_patch(new, changed).patch
    if not operations:
        return {"allowed": True}
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch}


def _kind(request: Object) -> Kind:
    resource = request["resource"]
    return _REVIEWED[resource["group"], resource["resource"]]
