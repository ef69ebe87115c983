"""Answers of a distant API server may come after the watch has shown the end of the object."""

from app.simulator.clock import Clock
from app.simulator.kinds import POD
from app.simulator.memory import MemoryObjects
from app.simulator.objects import Object
from app.simulator.registry import Registry
from app.simulator.store import Store
from app.simulator.volcano import names
from app.simulator.volcano.informer import Informer
from app.simulator.volcano.job_cache import JobCache


def pod(uid: str, version: int) -> Object:
    annotations = {names.JOB_NAME: "job", names.TASK_SPEC: "worker", names.JOB_VERSION: "0"}
    metadata = {"namespace": "team", "name": "job-worker-0", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": {**metadata, "annotations": annotations}}


def job(uid: str, version: int) -> Object:
    return {"metadata": {"namespace": "team", "name": "job", "uid": uid, "resourceVersion": str(version)}}


def test_a_late_answer_does_not_bring_a_pod_back() -> None:
    cache = JobCache()
    cache.put_job(job("j", 1))
    cache.put_pod(pod("first", 2))
    cache.remove_pod(pod("first", 4))
    cache.put_pod(pod("first", 3))
    assert not cache.has_pod(pod("first", 3))
    cache.put_pod(pod("second", 5))
    assert cache.has_pod(pod("second", 5))


def test_a_late_answer_does_not_bring_a_job_back() -> None:
    cache = JobCache()
    cache.put_job(job("first", 1))
    cache.remove_job(job("first", 3))
    cache.put_job(job("first", 2))
    assert cache.get("team/job") is None
    cache.put_job(job("second", 4))
    assert cache.get("team/job") is not None


def test_a_late_answer_does_not_bring_an_object_back_to_its_list() -> None:
    informer = Informer(MemoryObjects(Registry(Store())), POD, Clock())
    informer.put(pod("first", 1))
    informer._apply("DELETED", pod("first", 3))
    informer.put(pod("first", 2))
    assert informer.items == {}
    informer.put(pod("second", 4))
    assert list(informer.items) == ["team/job-worker-0"]
