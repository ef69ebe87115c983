"""What a worker sends to say how far it is."""

from typing import Annotated

from pydantic import Field

from app.jobs.fields import Index, Name
from app.jobs.schemas import Body

MAXIMUM_TOTAL = 10**12
"""Annotations of pods have the same limit (`app.cluster.pod_progress`)."""

Amount = Annotated[int, Field(ge=0, le=MAXIMUM_TOTAL)]


class ProgressWrite(Body):
    """How far the worker of one pod is."""

    task: Name = Field(description="Name of the pod's task; its variable PUMICE_TASK holds it")
    index: Index = Field(description="Place of the pod in its task; its variable VC_TASK_INDEX holds it")
    done: Amount = Field(description="Units of work that are done; at most `total`")
    total: Amount = Field(description="Units of work that the pod has to do, as far as it knows")
