"""What is on a cluster already: a real Volcano, another simulated one, or what a killed one left behind."""

import base64
import ssl
from collections.abc import Iterable

import aiohttp

from app.simulator.kinds import DEPLOYMENT, POD, Kind
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.remote.kinds import MUTATING_WEBHOOKS, SIMULATED, VALIDATING_WEBHOOKS
from app.simulator.remote.webhook_configurations import NAME
from app.simulator.remote.webhook_server import HEALTH

WEBHOOK_KINDS = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)

_SCHEDULER_LABEL = "app=volcano-scheduler"
_SCHEDULER_IMAGE = "/vc-scheduler"
_ANSWER_SECONDS = 2.0


class Occupied(Exception):
    """The cluster has a Volcano. The message is one sentence for the person who wants a second one."""


async def require_no_volcano(objects: Objects) -> None:
    """Refuse a cluster where a Volcano works, and remove the webhooks that a killed simulated one left.

    Raises:
        Occupied: a real Volcano is installed, or another simulated one is working.
        ApiError: the cluster could not be read.
    """
    for kind in WEBHOOK_KINDS:
        for configuration in await objects.list(kind):
            _require_not_real(kind, configuration)
    await _require_no_scheduler(objects)
    for kind in WEBHOOK_KINDS:
        await _replace_left_over(objects, kind)


def _require_not_real(kind: Kind, configuration: Object) -> None:
    if _is_simulated(configuration):
        return
    for webhook in configuration.get("webhooks") or ():
        if str(webhook.get("name", "")).endswith(".volcano.sh"):
            name = configuration["metadata"]["name"]
            raise Occupied(f"A real Volcano is installed: the cluster has the {kind.name} {name}.")


async def _require_no_scheduler(objects: Objects) -> None:
    for pod in await objects.list(POD, label_selector=_SCHEDULER_LABEL):
        if (pod.get("status") or {}).get("phase") == "Running" and not _is_simulated(pod):
            raise Occupied(f"A real Volcano is installed: {_place(pod)} runs its scheduler.")
    for deployment in await objects.list(DEPLOYMENT):
        if not _is_simulated(deployment) and any(_SCHEDULER_IMAGE in image for image in _images(deployment)):
            raise Occupied(f"A real Volcano is installed: the Deployment {_place(deployment)} is its scheduler.")


def _images(deployment: Object) -> Iterable[str]:
    for container in deployment["spec"]["template"]["spec"].get("containers") or ():
        yield str(container.get("image", ""))


def _place(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _is_simulated(obj: Object) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return SIMULATED.items() <= labels.items()


async def _replace_left_over(objects: Objects, kind: Kind) -> None:
    """A killed process leaves its webhooks, which refuse every write of Jobs and Queues from then on."""
    try:
        configuration = await objects.get(kind, None, NAME)
    except ApiError as refusal:
        if refusal.reason == "NotFound":
            return
        raise
    for webhook in configuration.get("webhooks") or ():
        if await _answers(webhook["clientConfig"]):
            raise Occupied("Another `pumice simulate --kubeconfig` is at work on this cluster; stop that one first.")
    await objects.delete(kind, None, NAME, uid=configuration["metadata"]["uid"])


async def _answers(client: Object) -> bool:
    """Whether the server of a webhook of ours still answers, at that address and with that certificate."""
    server = "/".join(str(client.get("url", "")).split("/")[:3])
    try:
        authority = base64.b64decode(client["caBundle"]).decode()
        context = ssl.create_default_context(cadata=authority)
        timeout = aiohttp.ClientTimeout(total=_ANSWER_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=False) as session,
            session.get(server + HEALTH, ssl=context) as answer,
        ):
            return answer.ok
    except (TimeoutError, aiohttp.ClientError, OSError, KeyError, ValueError):
        return False
