from typing import Any

import pytest

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-1g.5gb"


@pytest.mark.parametrize(
    ("written", "used"),
    [
        *((1, 1), ("1", 1), ("1000m", 1), ("1e0", 1), ("1E0", 1), ("+1", 1), ("1.0", 1), ("0.001k", 1)),
        *((8, 8), ("0.008k", 8), ("8000m", 8)),
    ],
)
async def test_equal_amounts_count_alike(nlp: Any, body: Any, written: Any, used: int) -> None:
    job = await nlp.accepted(body(gpus=written))
    assert job["resources"] == {GPU: str(used)}
    assert await nlp.used() == used
    manifest = (await nlp.client.get(f"/v1/jobs/{job['id']}/manifest")).json()
    resources = manifest["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]
    assert resources["requests"][GPU] == resources["limits"][GPU] == str(used)
    await nlp.cancel(job["id"])
    assert await nlp.used() == 0


async def test_above_the_whole_quota_never_fits(nlp: Any, body: Any) -> None:
    problem = await nlp.refused(body(gpus="9000m"), 422, "job-never-fits")
    assert (problem["resource"], problem["limit"], problem["requested"]) == (GPU, 8, 9)
    assert all(part in problem["detail"] for part in (GPU, "9", "8"))
    assert await nlp.used() == 0


async def test_what_does_not_fit_now_is_a_conflict(nlp: Any, body: Any) -> None:
    await nlp.accepted(body(gpus=6))
    problem = await nlp.refused(body(name="b", gpus=4), 409, "quota-exceeded")
    assert {key: problem[key] for key in ("resource", "limit", "used", "requested")} == {
        "resource": GPU,
        "limit": 8,
        "used": 6,
        "requested": 4,
    }
    assert all(part in problem["detail"] for part in (GPU, "4", "6", "8"))
    assert await nlp.used() == 6


async def test_holds_what_does_not_fit_when_the_team_wants_so(nlp: Any, body: Any) -> None:
    await nlp.put_quota({GPU: 8}, on_over_quota="hold")
    await nlp.accepted(body(gpus=6))
    held = await nlp.accepted(body(name="b", gpus=4))
    assert (held["state"], held["reason"]) == ("held", "QuotaExceeded")
    assert all(part in held["message"] for part in (GPU, "4", "6", "8"))
    assert await nlp.used() == 6
    await nlp.refused(body(name="c", gpus=9), 422, "job-never-fits")
    await nlp.cancel(held["id"])
    assert await nlp.used() == 6  # it was never charged


@pytest.mark.parametrize("min_available", [None, 1])
async def test_every_replica_counts_whatever_the_gang_is(nlp: Any, body: Any, min_available: int | None) -> None:
    made = body(gpus=2, task={"replicas": 3}, min_available=min_available)
    second = {**made["tasks"][0], "name": "b", "replicas": 2, "resources": {"gpus": 1}}
    made["tasks"].append(second)
    job = await nlp.accepted(made)
    assert await nlp.used() == 8
    await nlp.cancel(job["id"])
    second["replicas"] = 3
    problem = await nlp.refused(made, 422, "job-never-fits")
    assert (problem["requested"], problem["limit"]) == (9, 8)


async def test_resources_are_separate_pools(vision: Any, body: Any) -> None:
    def of(resource: str, gpus: int, name: str) -> Any:
        return body(name=name, task={"resources": {"gpus": gpus, "gpu_resource": resource}})

    await vision.accepted(of(MIG, 2, "a"))
    assert (await vision.used(MIG), await vision.used(GPU)) == (2, 0)
    problem = await vision.refused(of(MIG, 3, "b"), 422, "job-never-fits")
    assert (problem["resource"], problem["limit"], problem["requested"]) == (MIG, 2, 3)
    for unknown in ("nvidia.com/mig-2g.10gb", "amd.com/gpu", "huawei.com/Ascend910"):
        problem = await vision.refused(of(unknown, 1, "c"), 422, "job-never-fits")
        assert (problem["resource"], problem["limit"]) == (unknown, 0)
    await vision.refused(of("NVIDIA.com/gpu", 1, "d"), 422, "validation-error")
    await vision.accepted(of(GPU, 4, "e"))
    assert (await vision.used(MIG), await vision.used(GPU)) == (2, 4)


async def test_one_resource_without_an_entry_refuses_the_whole_job(vision: Any, body: Any) -> None:
    made = body()
    made["tasks"].append({**made["tasks"][0], "name": "b", "resources": {"gpus": 1, "gpu_resource": "amd.com/gpu"}})
    problem = await vision.refused(made, 422, "job-never-fits")
    assert problem["resource"] == "amd.com/gpu"
    assert await vision.used() == 0


async def test_the_number_of_jobs_is_bounded(nlp: Any, body: Any) -> None:
    await nlp.put_quota({}, max_jobs=1)
    first = await nlp.accepted(body(gpus=0))
    problem = await nlp.refused(body(name="b", gpus=0), 409, "quota-exceeded")
    assert (problem["limit"], problem["used"], problem["requested"]) == (1, 1, 1)
    await nlp.cancel(first["id"])
    await nlp.accepted(body(name="b", gpus=0))


async def test_a_lowered_quota_leaves_jobs_alone_and_counts_on(nlp: Any, body: Any) -> None:
    three = await nlp.accepted(body(name="three", gpus=3))
    also = await nlp.accepted(body(name="also", gpus=3))
    await nlp.put_quota({GPU: 4})
    usage = (await nlp.client.get("/v1/teams/nlp/quota")).json()["usage"][GPU]
    assert (usage["limit"], usage["used"], usage["available"]) == (4, 6, 0)
    await nlp.refused(body(name="one"), 409, "quota-exceeded")
    await nlp.cancel(three["id"])
    usage = (await nlp.client.get("/v1/teams/nlp/quota")).json()["usage"][GPU]
    assert (usage["used"], usage["available"]) == (3, 1)
    await nlp.accepted(body(name="one"))
    assert await nlp.used() == 4
    await nlp.put_quota({GPU: 0})
    await nlp.refused(body(name="two"), 422, "job-never-fits")
    await nlp.accepted(body(name="cpu", gpus=0))
    assert (await nlp.client.get(f"/v1/jobs/{also['id']}")).json()["state"] == "held"


async def test_without_a_quota_only_processors_are_allowed(api: Any, body: Any) -> None:
    await api.make_team("new", gpus=None)
    assert (await api.admin.post("/v1/teams/new/jobs", json=body())).json()["type"] == "job-never-fits"
    assert (await api.admin.post("/v1/teams/new/jobs", json=body(gpus=0))).status_code == 201
