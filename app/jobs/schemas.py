"""The body of a submission. Shapes are checked here, `validation.py` checks what needs more than one field.

Unknown fields are refused: a misspelt optional field must not fall back to its default in silence.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from app.jobs.dependencies import Condition, Otherwise
from app.jobs.fields import (
    MAXIMUM_PARENTS,
    MAXIMUM_REPLICAS,
    MAXIMUM_TASKS,
    ExitCode,
    Gpus,
    Image,
    Index,
    MountPath,
    Name,
    ObjectName,
    Quantity,
    Reason,
    Replicas,
    Retries,
    SecretKey,
    Text,
    TimeoutSeconds,
)
from app.names import DnsSubdomain
from app.schema_base import RequestBody

DEFAULT_GPU_RESOURCE = "nvidia.com/gpu"


# A default that could be changed is deep-copied for each body, which costs as much as all the rest of its validation; a
# factory makes a new one. What the contract says stays the same.
_NO_ITEMS: dict[str, Any] = {"default": []}
_NO_MEMBERS: dict[str, Any] = {"default": {}}


class Body(RequestBody):
    """Base of every part of a job's body: no silent conversion of types either."""

    model_config = ConfigDict(strict=True)


class Resources(Body):
    """What one replica asks for."""

    cpu: Quantity = Field(default="0", description="Cores, as a request")
    memory: Quantity = Field(default="0", description="Bytes, as request and limit")
    gpus: Gpus = Field(default=0, description="Whole cards")
    gpu_resource: Text = Field(
        default=DEFAULT_GPU_RESOURCE, description="Extended resource that `gpus` counts, such as nvidia.com/mig-1g.5gb"
    )


class SecretKeyRef(Body):
    """A key of a Secret in the team's namespace."""

    secret: ObjectName
    key: SecretKey


class Toleration(Body):
    """As in Kubernetes: a taint that does not keep the pod away."""

    key: Text | None = None
    operator: Literal["Equal", "Exists"] = "Equal"
    value: Text | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    toleration_seconds: int | None = Field(default=None, ge=0, le=2**31 - 1)


class Volume(Body):
    """A PersistentVolumeClaim of the team's namespace, mounted into the container."""

    claim: ObjectName
    path: MountPath
    read_only: bool = False


class TaskArray(Body):
    """Pods that do not need each other, one for each index from 0 to `size` - 1."""

    size: Replicas = Field(description="Number of indices")
    parallelism: Replicas | None = Field(default=None, description="Pods at the same time at the most; all by default")
    indices: Annotated[list[Index], Field(min_length=1, max_length=MAXIMUM_REPLICAS)] | None = Field(
        default=None, description="Only these of the indices; all by default. A retry fills in those that failed"
    )


def _replicas_are_optional(schema: dict[str, Any]) -> None:
    schema["required"].remove("replicas")


class Task(Body):
    """Replicas of one container; `array` stands in place of `replicas`."""

    model_config = ConfigDict(json_schema_extra=_replicas_are_optional)

    name: Name | None = Field(default=None, description="`worker` for a single task, else `task<index>`")
    replicas: Replicas = Field(description="Pods of this task; with `array` it is the number of its indices")
    array: TaskArray | None = Field(default=None, description="Indexed pods that do not need each other")
    image: Image
    command: list[Text] = Field(default_factory=list, json_schema_extra=_NO_ITEMS)
    args: list[Text] = Field(default_factory=list, json_schema_extra=_NO_ITEMS)
    env: dict[Text, Text] = Field(
        default_factory=dict,
        json_schema_extra=_NO_MEMBERS,
        description="`$(NAME)` in a value stands for a variable of `secret_env`, or an `env` name before it",
    )
    secret_env: dict[Text, SecretKeyRef] = Field(default_factory=dict, json_schema_extra=_NO_MEMBERS)
    resources: Resources
    node_selector: dict[Text, Text] = Field(default_factory=dict, json_schema_extra=_NO_MEMBERS)
    tolerations: list[Toleration] = Field(default_factory=list, json_schema_extra=_NO_ITEMS, max_length=100)
    volumes: list[Volume] = Field(default_factory=list, json_schema_extra=_NO_ITEMS, max_length=100)
    min_available: Replicas | None = Field(default=None, description="Least pods of this task; its replicas by default")
    depends_on: list[Name] = Field(
        default_factory=list,
        json_schema_extra=_NO_ITEMS,
        max_length=MAXIMUM_TASKS,
        description="Tasks whose pods have to run before pods of this one are made (Volcano's dependsOn)",
    )

    @model_validator(mode="before")
    @classmethod
    def _array_stands_for_replicas(cls, given: Any) -> Any:
        """Fill in `replicas`, so that whoever counts pods need not know of arrays; `validation` compares the two."""
        if not isinstance(given, dict) or "replicas" in given or not isinstance(given.get("array"), dict):
            return given
        return {**given, "replicas": _number_of_indices(given["array"])}


def _number_of_indices(array: dict[str, Any]) -> int:
    indices, size = array.get("indices"), array.get("size")
    number = len(indices) if isinstance(indices, list) else size
    # of a number that is wrong, its own field tells
    return number if type(number) is int and 1 <= number <= MAXIMUM_REPLICAS else 1


class RetryRule(Body):
    """What is done when a pod ends in one of these ways. The first rule that fits decides."""

    exit_codes: Annotated[list[ExitCode], Field(max_length=255)] = Field(
        default_factory=list, json_schema_extra=_NO_ITEMS, description="The container ended with one of these codes"
    )
    causes: Annotated[list[Literal["Error", "OOMKilled", "Disrupted"]], Field(max_length=3)] = Field(
        default_factory=list,
        json_schema_extra=_NO_ITEMS,
        description=(
            "The container ended by itself with a code other than 0; or used more memory than it may; or the pod was"
            " evicted or preempted, or its node was lost"
        ),
    )
    action: Literal["restart_task", "restart_job", "fail"] = Field(
        description=(
            "Run the pod again, or all of the job where its pods need each other; or all of the job in any case; or do"
            " not run it again"
        )
    )


class RetryPolicy(Body):
    """How often a job runs again. Disruptions (eviction, preemption, loss of a node) never use `max` up."""

    max: Retries = Field(
        default=0, description="Further runs of the job, or of each pod where pods do not need each other; 0 is one run"
    )
    on: list[RetryRule] = Field(
        default_factory=list,
        json_schema_extra=_NO_ITEMS,
        max_length=255,
        description="Without any, each pod that failed runs again while further runs are left",
    )


class After(Body):
    """A job of the same team that has to end first."""

    job: UUID = Field(strict=False, description="Its id")
    condition: Condition = Field(
        default=Condition.SUCCEEDED, strict=False, description="How it has to end; `finished` is in whichever way"
    )
    otherwise: Otherwise = Field(
        default=Otherwise.FAIL,
        strict=False,
        description="When it does not succeed, this job ends as `failed` or as `cancelled`, with DependencyFailed",
    )


class JobCreate(Body):
    """A job as a pipeline submits it. Only `name` and `tasks[].{replicas, image, resources}` are needed."""

    name: Name = Field(description="Unique among the team's jobs that have not ended")
    queue: DnsSubdomain | None = Field(
        default=None, description="A queue granted to the team; its default one when left out"
    )
    priority: Text | None = Field(default=None, description="One of the operator's priorities, such as high")
    labels: dict[Text, Text] = Field(
        default_factory=dict, json_schema_extra=_NO_MEMBERS, description="Kubernetes labels of the Job and its pods"
    )
    annotations: dict[Text, Text] = Field(
        default_factory=dict,
        json_schema_extra=_NO_MEMBERS,
        description="Annotations of the Job, at most 262,144 bytes; of its pods too while 4,096 of them are left",
    )
    tasks: Annotated[list[Task], Field(min_length=1, max_length=MAXIMUM_TASKS)]
    min_available: Replicas | None = Field(
        default=None, description="Pods that have to start together; by default all of the tasks that depend on nothing"
    )
    min_success: Replicas | None = Field(default=None, description="Pods that have to succeed for the job to succeed")
    retries: RetryPolicy = Field(default_factory=RetryPolicy, json_schema_extra={"default": {"max": 0, "on": []}})
    run_timeout_seconds: TimeoutSeconds | None = Field(
        default=None,
        description="Ends the job as failed with DeadlineExceeded when it has run this long, waiting not counted",
    )
    queue_timeout_seconds: TimeoutSeconds | None = Field(
        default=None, description="Ends the job as failed with QueueTimeout when no pod has started for this long"
    )
    after: list[After] = Field(
        default_factory=list,
        json_schema_extra=_NO_ITEMS,
        max_length=MAXIMUM_PARENTS,
        description="Jobs that have to end before this one is released",
    )


class JobPatch(Body):
    """Changes of a job that has not ended. What is left out stays as it is."""

    priority: Text | None = Field(default=None, description="One of the operator's priorities")
    labels: dict[Text, Text | None] | None = Field(
        default=None,
        description="By key, a new value or null to take the label off; others stay (JSON merge patch, RFC 7396)",
    )


class CancelRequest(Body):
    """Why a job is cancelled."""

    reason: Reason | None = None
