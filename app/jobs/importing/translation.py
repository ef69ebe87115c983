"""From a Volcano Job, as a person or kubectl wrote it, to the body of a submission. Pure.

Nothing is dropped in silence: each field is read, or is known to mean what happens anyway, or is refused with its place
and a sentence that says what to do instead. `known.py` lists them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pydantic

from app.errors import AppError, GpuNotWhole, Invalid, ValidationError
from app.jobs import validation
from app.jobs.importing.context import Context
from app.jobs.importing.documents import Document
from app.jobs.importing.draft import Draft, Section, text_or_none
from app.jobs.importing.known import DEPENDS_ON, JOB, ROOT, TASK, TEMPLATE
from app.jobs.importing.metadata import is_own, translate_metadata, translate_template_metadata
from app.jobs.importing.origins import relocated
from app.jobs.importing.pods import translate_job_volumes, translate_pod
from app.jobs.importing.policies import for_all_pods, translate_retries
from app.jobs.schemas import JobCreate
from app.validation import fault_of, invalid

API_VERSION = "batch.volcano.sh/v1alpha1"


@dataclass(frozen=True, slots=True)
class Imported:
    """A document that is a job."""

    spec: JobCreate


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that is none, and why; pointers go into the document that was sent."""

    faults: tuple[Invalid, ...]
    only_fractions: bool = False

    def error(self) -> AppError:
        """The same as an answer."""
        if self.only_fractions:
            errors = [{"pointer": fault.pointer, "detail": fault.detail, "code": fault.code} for fault in self.faults]
            return GpuNotWhole(self.faults[0].detail, errors=errors)
        return ValidationError(list(self.faults))


def translate(document: Document, context: Context) -> Imported | Refused:
    """Read a document as a job, or say everything that is wrong with it."""
    if not isinstance(document.value, dict):
        return Refused((invalid(document.place, "This has to be a JSON object", "dict-type"),))
    draft = Draft(document.place)
    draft.check(document.value, (), ROOT)
    for name, wanted in (("apiVersion", API_VERSION), ("kind", "Job")):
        if document.value.get(name) != wanted:
            words = f"This takes Jobs of Volcano: apiVersion {API_VERSION}, kind Job"
            return Refused((invalid((*document.place, name), words, "not-a-volcano-job"),))
    body = _body(draft, document.value, context)
    try:
        spec = JobCreate.model_validate(body)
        validation.check(spec, context.priorities)
    except pydantic.ValidationError as error:
        found = [fault_of(fault) for fault in error.errors(include_url=False, include_input=False)]
    except AppError as error:
        found = [Invalid(**fault) for fault in error.extras["errors"]]
        if isinstance(error, GpuNotWhole) and not draft.faults:
            return Refused(tuple(relocated(found, draft)), only_fractions=True)
    else:
        return Refused(tuple(draft.faults)) if draft.faults else Imported(_restarting(spec, document.value["spec"]))
    return Refused(tuple(_distinct([*draft.faults, *relocated(found, draft)])))


def _body(draft: Draft, document: Mapping[str, Any], context: Context) -> dict[str, Any]:
    body = Section(draft, ())
    translate_metadata(draft, body, document, context)
    spec = draft.mapping(document.get("spec"), ("spec",))
    draft.check(spec, ("spec",), JOB)
    least = spec.get("minAvailable")
    # 0 is as good as none, which Volcano's webhook says too
    body.set("min_available", ("spec", "minAvailable"), None if least == 0 and least is not False else least)
    body.set("min_success", ("spec", "minSuccess"), spec.get("minSuccess"))
    body.set("queue", ("spec", "queue"), text_or_none(spec.get("queue")))
    _priority(draft, body, spec, context)
    _fixed(draft, spec, context)
    given = draft.sequence(spec.get("tasks"), ("spec", "tasks"))
    tasks = [draft.mapping(task, ("spec", "tasks", index)) for index, task in enumerate(given)]
    masked = is_own(document.get("metadata"))
    sections = [_task(draft, index, task, spec, masked=masked) for index, task in enumerate(tasks)]
    body.set("tasks", ("spec", "tasks"), [section.values for section in sections])
    translate_job_volumes(draft, sections, spec)
    templates = [
        draft.mapping(task.get("template"), ("spec", "tasks", index, "template")) for index, task in enumerate(tasks)
    ]
    translate_template_metadata(draft, body, templates, context)
    translate_retries(draft, body, {**spec, "tasks": tasks}, single_task=len(tasks) == 1)
    return body.values


def _restarting(spec: JobCreate, given: Mapping[str, Any]) -> JobCreate:
    """The job with the retries that its policies, which are well formed, ask for."""
    own = [policy for task in given["tasks"] for policy in task.get("policies") or ()]
    return for_all_pods(spec, [*(given.get("policies") or ()), *own])


def _task(draft: Draft, index: int, task: Mapping[str, Any], spec: Mapping[str, Any], *, masked: bool) -> Section:
    place = ("spec", "tasks", index)
    draft.check(task, place, TASK)
    section = Section(draft, ("tasks", index))
    section.set("name", (*place, "name"), text_or_none(task.get("name")))
    section.set("replicas", (*place, "replicas"), task.get("replicas"))
    section.set("min_available", (*place, "minAvailable"), task.get("minAvailable"))
    _depends_on(draft, section, task, (*place, "dependsOn"))
    template = draft.mapping(task.get("template"), (*place, "template"))
    draft.check(template, (*place, "template"), TEMPLATE)
    here = (*place, "template", "spec")
    pod = draft.mapping(template.get("spec"), here)
    if pod.get("priorityClassName") not in (None, "", spec.get("priorityClassName")):
        words = "Pods have the PriorityClass of the Job; write it there"
        draft.fault((*here, "priorityClassName"), words, "unsupported-value")
    translate_pod(draft, section, pod, here, masked=masked)
    return section


def _depends_on(draft: Draft, section: Section, task: Mapping[str, Any], place: tuple[str | int, ...]) -> None:
    given = draft.mapping(task.get("dependsOn"), place)
    draft.check(given, place, DEPENDS_ON)
    names = given.get("name")
    section.set("depends_on", (*place, "name"), names)
    if given.get("iteration") not in (None, "", "all") and isinstance(names, list) and len(names) > 1:
        words = "A task waits for all that it depends on; leave iteration out"
        draft.fault((*place, "iteration"), words, "unsupported-value")


def _priority(draft: Draft, body: Section, spec: Mapping[str, Any], context: Context) -> None:
    """The operator's name of a PriorityClass; the default priority's when several names have the class."""
    wanted = text_or_none(spec.get("priorityClassName"))
    names = [name for name, priority_class in context.priorities.items() if priority_class == wanted]
    source = ("spec", "priorityClassName")
    if wanted is None:
        body.set("priority", source, None)
    elif not names:
        classes = ", ".join(sorted(filter(None, context.priorities.values())))
        draft.fault(source, f"The PriorityClasses of jobs are {classes}", "unknown-priority")
    else:
        body.set("priority", source, context.default_priority if context.default_priority in names else names[0])


def _fixed(draft: Draft, spec: Mapping[str, Any], context: Context) -> None:
    """Refuse what every Job of ours has in one way."""
    if spec.get("ttlSecondsAfterFinished") not in (None, context.ttl_seconds):
        words = (
            "A finished Job is removed by the service, and its history stays; leave it out (Jobs have "
            f"{context.ttl_seconds} here)"
        )
        draft.fault(("spec", "ttlSecondsAfterFinished"), words, "unsupported-value")
    for name, arguments in draft.mapping(spec.get("plugins"), ("spec", "plugins")).items():
        if name != "env":
            words = "Of Volcano's plugins a job has env, which numbers its pods; leave others out"
            draft.fault(("spec", "plugins", name), words, "unsupported-plugin")
        elif arguments not in (None, [], {}):
            draft.fault(("spec", "plugins", name), "The plugin takes no arguments", "unsupported-plugin")


def _distinct(faults: list[Invalid]) -> list[Invalid]:
    """One fault for each place: the first one says it in the document's own terms."""
    found: dict[str, Invalid] = {}
    for fault in faults:
        found.setdefault(fault.pointer, fault)
    return list(found.values())
