"""A task's pod template: one container, claims, and where its pods may go. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.jobs.faults import Place
from app.jobs.importing.draft import Draft, Section, text_or_none
from app.jobs.importing.environment import translate_environment
from app.jobs.importing.known import CLAIM, CONTAINER, JOB_VOLUME, MOUNT, POD, SECURITY, TOLERATION, VOLUME
from app.jobs.importing.resources import translate_resources


def translate_pod(draft: Draft, task: Section, pod: Mapping[str, Any], place: Place, *, masked: bool) -> None:
    """Read the spec of a task's pods, which stands at `place`."""
    draft.check(pod, place, POD)
    task.set("node_selector", (*place, "nodeSelector"), pod.get("nodeSelector"))
    _tolerations(draft, task, pod, place)
    containers = draft.sequence(pod.get("containers"), (*place, "containers"))
    if len(containers) != 1:
        words = f"A pod has one container here, not {len(containers)}; make a task of each, or one image of all"
        draft.fault((*place, "containers"), words, "one-container")
    if containers:
        where = (*place, "containers", 0)
        container = draft.mapping(containers[0], where)
        _container(draft, task, container, where, masked=masked)
        _mounts(draft, task, container, where, _claims(draft, pod, place))


def translate_job_volumes(draft: Draft, tasks: Sequence[Section], spec: Mapping[str, Any]) -> None:
    """Add the Job's own volumes, which Volcano mounts into every container."""
    for index, entry in enumerate(draft.sequence(spec.get("volumes"), ("spec", "volumes"))):
        place: Place = ("spec", "volumes", index)
        given = draft.mapping(entry, place)
        draft.check(given, place, JOB_VOLUME)
        if not given.get("volumeClaimName"):
            draft.fault((*place, "volumeClaimName"), "Name a claim of the team's namespace", "missing")
            continue
        for task in tasks:
            mounts = task.values.setdefault("volumes", [])
            section = Section(draft, (*task.target, "volumes", len(mounts)))
            section.set("claim", (*place, "volumeClaimName"), given["volumeClaimName"])
            section.set("path", (*place, "mountPath"), given.get("mountPath"))
            mounts.append(section.values)


def _container(draft: Draft, task: Section, container: Mapping[str, Any], place: Place, *, masked: bool) -> None:
    draft.check(container, place, CONTAINER)
    security = (*place, "securityContext")
    draft.check(draft.mapping(container.get("securityContext"), security), security, SECURITY)
    for name in ("image", "command", "args"):
        task.set(name, (*place, name), container.get(name))
    _pull_policy(draft, container, place)
    translate_environment(draft, task, container, place, masked=masked)
    resources = Section(draft, (*task.target, "resources"))
    task.set("resources", (*place, "resources"), resources.values)
    translate_resources(draft, resources, container, place)


def _pull_policy(draft: Draft, container: Mapping[str, Any], place: Place) -> None:
    """Refuse any policy but the one that Kubernetes gives to such an image (docs, "Images")."""
    policy, image = container.get("imagePullPolicy"), container.get("image")
    if not policy or not isinstance(image, str):
        return
    tagged = ":" in image.rpartition("/")[2] and not image.endswith(":latest")
    usual = "IfNotPresent" if tagged or "@" in image else "Always"
    if policy != usual:
        words = f"For this image the policy is {usual}, by Kubernetes' own rule; leave it out"
        draft.fault((*place, "imagePullPolicy"), words, "unsupported-value")


def _tolerations(draft: Draft, task: Section, pod: Mapping[str, Any], place: Place) -> None:
    here = (*place, "tolerations")
    made: list[dict[str, Any]] = []
    for index, entry in enumerate(draft.sequence(pod.get("tolerations"), here)):
        where = (*here, index)
        given = draft.mapping(entry, where)
        draft.check(given, where, TOLERATION)
        section = Section(draft, (*task.target, "tolerations", index))
        for name in ("key", "operator", "effect"):
            section.set(name, (*where, name), text_or_none(given.get(name)))
        section.set("value", (*where, "value"), given.get("value"))
        section.set("toleration_seconds", (*where, "tolerationSeconds"), given.get("tolerationSeconds"))
        made.append(section.values)
    task.set("tolerations", here, made)


def _claims(draft: Draft, pod: Mapping[str, Any], place: Place) -> dict[str, tuple[Any, bool, Place]]:
    """The pod's claims by the volume's name: the claim, whether it is for reading only, and where the volume stands."""
    found: dict[str, tuple[Any, bool, Place]] = {}
    for index, entry in enumerate(draft.sequence(pod.get("volumes"), (*place, "volumes"))):
        where = (*place, "volumes", index)
        volume = draft.mapping(entry, where)
        draft.check(volume, where, VOLUME)
        here = (*where, "persistentVolumeClaim")
        claim = draft.mapping(volume.get("persistentVolumeClaim"), here)
        draft.check(claim, here, CLAIM)
        name = volume.get("name")
        if not isinstance(name, str):
            draft.fault((*where, "name"), "This has to be a text", "string-type")
        elif name in found:
            draft.fault(
                (*where, "name"), f"The volume's name stands twice, first at volumes/{found[name][2][-1]}", "duplicate"
            )
        else:
            found[name] = (claim.get("claimName"), claim.get("readOnly") is True, where)
    return found


def _mounts(
    draft: Draft,
    task: Section,
    container: Mapping[str, Any],
    place: Place,
    claims: Mapping[str, tuple[Any, bool, Place]],
) -> None:
    here = (*place, "volumeMounts")
    made: list[dict[str, Any]] = []
    unused = dict(claims)
    for index, entry in enumerate(draft.sequence(container.get("volumeMounts"), here)):
        where = (*here, index)
        mount = draft.mapping(entry, where)
        draft.check(mount, where, MOUNT)
        name = mount.get("name")
        if not isinstance(name, str) or name not in claims:
            draft.fault((*where, "name"), "There is no volume of this name in the pod", "unknown-volume")
            continue
        unused.pop(name, None)
        claim, read_only, volume = claims[name]
        section = Section(draft, (*task.target, "volumes", len(made)))
        section.set("claim", (*volume, "persistentVolumeClaim", "claimName"), claim)
        section.set("path", (*where, "mountPath"), mount.get("mountPath"))
        section.set("read_only", (*where, "readOnly"), True if read_only else mount.get("readOnly"))
        made.append(section.values)
    for _, _, volume in unused.values():
        draft.fault(volume, "The volume is not mounted; mount it, or leave it out", "unused-volume")
    task.set("volumes", here, made)
