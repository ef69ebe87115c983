"""The body of a submission. Shapes are checked here, `validation.py` checks what needs more than one field.

Unknown fields are refused: a misspelt optional field must not fall back to its default in silence. What a later version
will understand (array jobs, timeouts, ...) is unknown today and refused too, rather than accepted and ignored.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from app.jobs.fields import (
    MAXIMUM_TASKS,
    ExitCode,
    Gpus,
    Image,
    MountPath,
    Name,
    ObjectName,
    Quantity,
    Reason,
    Replicas,
    Retries,
    SecretKey,
    Text,
)
from app.names import DnsSubdomain
from app.schema_base import RequestBody

DEFAULT_GPU_RESOURCE = "nvidia.com/gpu"


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


class Task(Body):
    """Replicas of one container."""

    name: Name | None = Field(default=None, description="`worker` for a single task, else `task<index>`")
    replicas: Replicas = Field(description="Pods of this task")
    image: Image
    command: list[Text] = Field(default=[])
    args: list[Text] = Field(default=[])
    env: dict[Text, Text] = Field(
        default={}, description="`$(NAME)` in a value stands for a variable of `secret_env`, or an `env` name before it"
    )
    secret_env: dict[Text, SecretKeyRef] = Field(default={})
    resources: Resources
    node_selector: dict[Text, Text] = Field(default={})
    tolerations: list[Toleration] = Field(default=[], max_length=100)
    volumes: list[Volume] = Field(default=[], max_length=100)
    min_available: Replicas | None = Field(default=None, description="Least pods of this task; its replicas by default")
    depends_on: list[Name] = Field(
        default=[],
        max_length=MAXIMUM_TASKS,
        description="Tasks whose pods have to run before pods of this one are made (Volcano's dependsOn)",
    )


class RetryRule(Body):
    """What to run again when a container ends with one of these exit codes."""

    exit_codes: Annotated[list[ExitCode], Field(min_length=1, max_length=255)]
    action: Literal["restart_task", "restart_job"]


class RetryPolicy(Body):
    """How often a job runs again."""

    max: Retries = Field(default=0, description="Further runs; 0 means one run")
    on: list[RetryRule] = Field(
        default=[],
        max_length=255,
        description="Without any, each failed pod restarts the job while further runs are left",
    )


class JobCreate(Body):
    """A job as a pipeline submits it. Only `name` and `tasks[].{replicas, image, resources}` are needed."""

    name: Name = Field(description="Unique among the team's jobs that have not ended")
    queue: DnsSubdomain | None = Field(
        default=None, description="A queue granted to the team; its default one when left out"
    )
    priority: Text | None = Field(default=None, description="One of the operator's priorities, such as high")
    labels: dict[Text, Text] = Field(default={}, description="Kubernetes labels of the Job and its pods")
    annotations: dict[Text, Text] = Field(
        default={},
        description="Annotations of the Job, at most 262,144 bytes; of its pods too while 4,096 of them are left",
    )
    tasks: Annotated[list[Task], Field(min_length=1, max_length=MAXIMUM_TASKS)]
    min_available: Replicas | None = Field(
        default=None, description="Pods that have to start together; by default all of the tasks that depend on nothing"
    )
    min_success: Replicas | None = Field(default=None, description="Pods that have to succeed for the job to succeed")
    retries: RetryPolicy = RetryPolicy()


class CancelRequest(Body):
    """Why a job is cancelled."""

    reason: Reason | None = None
