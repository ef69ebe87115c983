"""The Job controller's writes to the API server, which its own cache sees at once."""

import asyncio
from collections.abc import Iterable

from app.simulator.clock import Clock
from app.simulator.kinds import CONFIG_MAP, JOB, POD, POD_GROUP, SERVICE, Kind
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.volcano import job_plugins, names
from app.simulator.volcano.events import EventRecorder
from app.simulator.volcano.job_cache import JobCache

NOT_FOUND = 404
CONFLICT = 409


class ControllerError(Exception):
    """A step failed and the request is to be tried again."""


class JobWriter:
    """Writes of one Job's objects."""

    def __init__(self, objects: Objects, clock: Clock, cache: JobCache, recorder: EventRecorder) -> None:
        self.objects = objects
        self.clock = clock
        self.cache = cache
        self.recorder = recorder

    async def status(self, job: Object, status: Object) -> Object:
        """Write a Job's status; 409 when somebody else has changed the Job."""
        written = await self.objects.replace(JOB, {**job, "status": status}, "status")
        self.cache.put_job(written)
        return written

    async def create_pods(self, job: Object, pods: Iterable[Object]) -> list[Object]:
        """Create pods at the same time.

        Returns:
            Those that are new; one that exists is skipped.

        Raises:
            ControllerError: some could not be created; the Job has an event FailedCreate.
        """
        wanted = list(pods)
        results = await asyncio.gather(*(self._create_pod(pod) for pod in wanted))
        errors = [result for result in results if isinstance(result, str)]
        if errors:
            await self.recorder.record(job, "Warning", "FailedCreate", f"Error creating pods: [{' '.join(errors)}]")
            raise ControllerError(f"failed to create {len(errors)} pods of {len(wanted)}")
        return [result for result in results if isinstance(result, dict)]

    async def _create_pod(self, pod: Object) -> Object | str | None:
        try:
            created = await self.objects.create(POD, pod)
        except ApiError as error:
            if error.code == CONFLICT and error.reason == "AlreadyExists":
                return None
            return f"failed to create pod {pod['metadata']['name']}, err: {error.message}"
        self.cache.put_pod(created)
        return created

    async def delete_pods(self, job: Object, pods: Iterable[Object], *, mark: bool) -> None:
        """Delete pods with their own grace period; `mark` annotates them as out of sync first.

        Raises:
            ControllerError: some could not be deleted; the Job has an event FailedDelete.
        """
        wanted = list(pods)
        results = await asyncio.gather(*(self._delete_pod(pod, mark=mark) for pod in wanted))
        errors = [error for error in results if error]
        if errors:
            await self.recorder.record(job, "Warning", "FailedDelete", f"Error deleting pods: [{' '.join(errors)}]")
            raise ControllerError(f"failed to delete {len(errors)} pods of {len(wanted)}")

    async def _delete_pod(self, pod: Object, *, mark: bool) -> str | None:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        try:
            if mark:
                change = {"metadata": {"annotations": {names.OUT_OF_SYNC: "true"}}}
                self.cache.put_pod(await self.objects.patch(POD, namespace, name, change))
            await self.objects.delete(POD, namespace, name)
            self.cache.put_pod(await self.objects.get(POD, namespace, name))
        except ApiError as error:
            if error.code != NOT_FOUND:
                return f"failed to delete pod {name}, err: {error.message}"
            self.cache.remove_pod(pod)
        return None

    async def delete_pod_group(self, pod_group: Object) -> None:
        """Delete a PodGroup, if it is still there."""
        await self._delete(POD_GROUP, pod_group["metadata"]["namespace"], pod_group["metadata"]["name"])

    async def add_plugins(self, job: Object) -> None:
        """Create what the Job's plugins need: the Service and the ConfigMap of `svc`."""
        if "svc" not in (job["spec"].get("plugins") or {}):
            return
        for kind, obj in ((CONFIG_MAP, job_plugins.build_config_map(job)), (SERVICE, job_plugins.build_service(job))):
            try:
                await self.objects.create(kind, obj)
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise

    async def update_plugins(self, job: Object) -> None:
        """Bring the ConfigMap of `svc` to the Job's present replicas."""
        if "svc" not in (job["spec"].get("plugins") or {}):
            return
        wanted = job_plugins.build_config_map(job)
        namespace, name = wanted["metadata"]["namespace"], wanted["metadata"]["name"]
        try:
            present = await self.objects.get(CONFIG_MAP, namespace, name)
            if present.get("data") != wanted["data"]:
                await self.objects.patch(CONFIG_MAP, namespace, name, {"data": wanted["data"]})
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            await self.objects.create(CONFIG_MAP, wanted)

    async def remove_plugins(self, job: Object) -> None:
        """Delete what the plugins made; a killed Job has no Service."""
        if "svc" not in (job["spec"].get("plugins") or {}):
            return
        await self._delete(CONFIG_MAP, job["metadata"]["namespace"], job_plugins.config_map_name(job))
        await self._delete(SERVICE, job["metadata"]["namespace"], job["metadata"]["name"])

    async def _delete(self, kind: Kind, namespace: str, name: str) -> None:
        try:
            await self.objects.delete(kind, namespace, name)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
