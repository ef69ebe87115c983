import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from app.db import Sessions

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-1g.5gb"


def pointers(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.text
    assert answer.json()["type"] == "validation-error"
    return [fault["pointer"] for fault in answer.json()["errors"]]


async def test_a_team_reads_as_it_was_made(api: Any) -> None:
    await api.make_queue("q-b")
    await api.make_queue("q-a")
    body = {"name": "nlp", "namespace": "team-nlp", "queues": ["q-b", "q-a"], "default_queue": "q-b"}
    answer = await api.admin.post("/v1/teams", json=body)
    assert answer.status_code == 201
    assert answer.headers["location"] == "/v1/teams/nlp"
    team = answer.json()
    assert team | body | {"queues": ["q-a", "q-b"]} == team
    assert (await api.admin.get("/v1/teams/nlp")).json() == team
    assert (await api.admin.get("/v1/teams")).json() == {"items": [team], "next_cursor": None}


async def test_the_only_queue_is_the_default_one(api: Any) -> None:
    await api.make_queue("q")
    await api.make_queue("r")
    one = await api.admin.post("/v1/teams", json={"name": "one", "namespace": "one", "queues": ["q"]})
    two = await api.admin.post("/v1/teams", json={"name": "two", "namespace": "two", "queues": ["q", "r"]})
    none = await api.admin.post("/v1/teams", json={"name": "none-yet", "namespace": "none-yet"})
    assert [answer.json()["default_queue"] for answer in (one, two, none)] == ["q", None, None]


@pytest.mark.parametrize("name", ["admin", "me", "default", "root", "system", "system-x", "kube-team"])
async def test_reserved_team_names_are_refused(api: Any, name: str) -> None:
    assert pointers(await api.admin.post("/v1/teams", json={"name": name, "namespace": "n"})) == ["/name"]


@pytest.mark.parametrize("name", ["NLP", "n_lp", "-n", "n-", "", "a" * 64, "n.l", "n\n", "ñ", "*", 7, None])
async def test_names_that_are_no_dns_labels_are_refused(api: Any, name: object) -> None:
    assert pointers(await api.admin.post("/v1/teams", json={"name": name, "namespace": "n"})) == ["/name"]
    assert pointers(await api.admin.post("/v1/teams", json={"name": "n", "namespace": name})) == ["/namespace"]
    assert (await api.admin.get("/v1/teams")).json()["items"] == []


async def test_a_name_of_63_characters_is_long_enough_and_64_is_refused_with_the_number(api: Any) -> None:
    good = await api.admin.post("/v1/teams", json={"name": "a" * 63, "namespace": "b" * 63})
    assert good.status_code == 201
    bad = await api.admin.post("/v1/teams", json={"name": "a" * 64, "namespace": "b"})
    assert "63" in bad.json()["detail"]


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "volcano-system"])
async def test_namespaces_of_others_are_refused(api: Any, namespace: str) -> None:
    assert pointers(await api.admin.post("/v1/teams", json={"name": "n", "namespace": namespace})) == ["/namespace"]


async def test_queues_must_exist_and_the_default_must_be_one_of_them(api: Any) -> None:
    await api.make_queue("q")
    await api.make_queue("other")
    unknown = {"name": "n", "namespace": "n", "queues": ["q", "qq"]}
    assert pointers(await api.admin.post("/v1/teams", json=unknown)) == ["/queues/1"]
    foreign = {"name": "n", "namespace": "n", "queues": ["q"], "default_queue": "other"}
    assert pointers(await api.admin.post("/v1/teams", json=foreign)) == ["/default_queue"]
    twice = {"name": "n", "namespace": "n", "queues": ["q", "q"]}
    assert pointers(await api.admin.post("/v1/teams", json=twice)) == ["/queues"]
    assert (await api.admin.get("/v1/teams")).json()["items"] == []


async def test_names_and_namespaces_are_in_use_once(api: Any) -> None:
    await api.make_team("nlp", gpus=None)
    for body, what in (
        ({"name": "nlp", "namespace": "other"}, "name"),
        ({"name": "other", "namespace": "team-nlp"}, "namespace"),
    ):
        answer = await api.admin.post("/v1/teams", json=body)
        assert (answer.status_code, answer.json()["type"]) == (409, "name-in-use")
        assert f"this {what}." in answer.json()["detail"]


async def test_ten_at_once_make_one_team(api: Any) -> None:
    body = {"name": "nlp", "namespace": "team-nlp"}
    answers = await asyncio.gather(*(api.admin.post("/v1/teams", json=body) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 9


async def test_a_patch_changes_what_it_names_and_nothing_else(api: Any) -> None:
    await api.make_queue("q2")
    before = await api.make_team("nlp", gpus=None)
    same = (await api.admin.patch("/v1/teams/nlp", json={})).json()
    assert same == before
    both = (await api.admin.patch("/v1/teams/nlp", json={"queues": ["q2", "q-nlp"]})).json()
    assert (both["queues"], both["default_queue"]) == (["q-nlp", "q2"], "q-nlp")
    moved = (await api.admin.patch("/v1/teams/nlp", json={"default_queue": "q2"})).json()
    assert (moved["queues"], moved["default_queue"]) == (["q-nlp", "q2"], "q2")
    taken = (await api.admin.patch("/v1/teams/nlp", json={"queues": ["q-nlp"]})).json()
    assert (taken["queues"], taken["default_queue"]) == (["q-nlp"], "q-nlp")
    assert pointers(await api.admin.patch("/v1/teams/nlp", json={"default_queue": "q2"})) == ["/default_queue"]
    assert pointers(await api.admin.patch("/v1/teams/nlp", json={"namespace": "x"})) == ["/namespace"]
    assert (await api.admin.get("/v1/teams/nlp")).json() == taken
    assert (await api.admin.patch("/v1/teams/nobody", json={})).status_code == 404


async def test_another_team_does_not_exist_for_members(api: Any) -> None:
    await api.make_team("nlp")
    await api.make_team("vision")
    member = await api.member("nlp", "manager")
    assert [team["name"] for team in (await member.get("/v1/teams")).json()["items"]] == ["nlp"]
    missing = await member.get("/v1/teams/nobody")
    for path in ("/v1/teams/vision", "/v1/teams/vision/quota"):
        answer = await member.get(path)
        assert answer.status_code == 404
        assert answer.json()["detail"] == missing.json()["detail"]


async def test_members_do_not_administer(api: Any) -> None:
    await api.make_team("nlp")
    manager = await api.member("nlp", "manager")
    quota = (await api.admin.get("/v1/teams/nlp/quota")).json()["limits"]
    for answer in (
        await manager.put(
            "/v1/teams/nlp/quota", json={"limits": {GPU: {"outstanding": 1000}}}, headers={"If-Match": "*"}
        ),
        await manager.post("/v1/teams", json={"name": "mine", "namespace": "mine"}),
        await manager.patch("/v1/teams/nlp", json={"queues": []}),
        await manager.post("/v1/queues", json={"name": "mine"}),
        await manager.patch("/v1/queues/q-nlp", json={"weight": 100}),
    ):
        assert (answer.status_code, answer.json()["type"]) == (403, "forbidden")
    assert (await api.admin.get("/v1/teams/nlp/quota")).json()["limits"] == quota


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/teams/nlp%2F..%2Fvision/quota", 404),
        ("/v1/teams/NLP/quota", 404),
        ("/v1/teams/nlp%00/quota", 422),
        ("/v1/teams/*/quota", 404),
        ("/v1/teams/admin/quota", 404),
        ("/v1/teams/me/quota", 404),
        ("/v1/teams/%20nlp/quota", 404),
        ("/v1/teams/%FF/quota", 404),
        ("/v1/teams/nlp/", 404),
        ("/v1/teams/" + "n" * 5000, 404),
    ],
)
async def test_odd_team_names_in_paths_lead_nowhere(api: Any, path: str, status: int) -> None:
    await api.make_team("nlp")
    member = await api.member("nlp", "viewer")
    assert (await member.get(path)).status_code == status
    assert (await api.admin.get(path)).status_code == status


async def test_lists_come_in_pages_that_cover_everything_once(api: Any) -> None:
    names = [f"team-{number}" for number in range(5)]
    for name in names:
        await api.admin.post("/v1/teams", json={"name": name, "namespace": name})
    seen, url = [], "/v1/teams?limit=2"
    while url:
        answer = await api.admin.get(url)
        page = answer.json()
        seen += [team["name"] for team in page["items"]]
        assert (page["next_cursor"] is None) == ("link" not in answer.headers)
        url = answer.headers.get("link", "").partition(">")[0].removeprefix("<")
    assert seen == names


async def test_a_team_without_a_quota_reads_as_empty_limits(api: Any) -> None:
    await api.make_team("nlp", gpus=None)
    answer = await api.admin.get("/v1/teams/nlp/quota")
    assert answer.headers["etag"] == '"0"'
    quota = answer.json()
    assert quota.pop("as_of").endswith("Z")
    assert quota == {
        "limits": {},
        "max_jobs": None,
        "on_over_quota": "reject",
        "usage": {},
        "jobs": {"limit": None, "used": 0, "available": None},
        "updated_at": None,
        "updated_by": None,
    }


async def test_a_quota_shows_what_is_in_use_and_never_less_than_nothing_available(api: Any, sessions: Sessions) -> None:
    await api.make_team("nlp", gpus=8)
    async with sessions.begin() as session:
        await session.execute(
            text("INSERT INTO team_usage VALUES ('nlp', :gpu, 6), ('nlp', :mig, 1), ('nlp', 'count/jobs', 3)"),
            {"gpu": GPU, "mig": MIG},
        )
    quota = (await api.admin.get("/v1/teams/nlp/quota")).json()
    assert quota["usage"] == {
        GPU: {"limit": 8, "used": 6, "available": 2},
        MIG: {"limit": 0, "used": 1, "available": 0},
    }
    assert quota["jobs"] == {"limit": 100, "used": 3, "available": 97}
    lowered = {"limits": {GPU: {"outstanding": 4}, MIG: {"per_job": 1}}, "max_jobs": 2}
    answer = await api.admin.put("/v1/teams/nlp/quota", json=lowered, headers={"If-Match": '"1"'})
    assert answer.status_code == 200, answer.text
    quota = answer.json()
    assert quota["usage"] == {
        GPU: {"limit": 4, "used": 6, "available": 0},
        MIG: {"limit": None, "used": 1, "available": None},
    }
    assert quota["jobs"] == {"limit": 2, "used": 3, "available": 0}


async def test_no_change_of_a_quota_is_lost(api: Any) -> None:
    await api.make_team("nlp", gpus=None)
    path, body = "/v1/teams/nlp/quota", {"limits": {GPU: {"per_job": 4, "outstanding": 8}}}
    assert (await api.admin.put(path, json=body, headers={"If-Match": '"7"'})).status_code == 412
    first = await api.admin.put(path, json=body)
    assert (first.status_code, first.headers["etag"]) == (200, '"1"')
    assert first.json()["limits"] == body["limits"]
    assert first.json()["updated_by"] == "bootstrap-admin"
    blind = await api.admin.put(path, json={"limits": {}})
    assert (blind.status_code, blind.json()["type"]) == (428, "precondition-required")
    stale = await api.admin.put(path, json={"limits": {}}, headers={"If-Match": '"0"'})
    assert (stale.status_code, stale.json()["type"]) == (412, "precondition-failed")
    weak = await api.admin.put(path, json={"limits": {}}, headers={"If-Match": 'W/"1"'})
    assert weak.status_code == 412
    assert (await api.admin.get(path)).json()["limits"] == body["limits"]
    second = await api.admin.put(path, json={"on_over_quota": "hold"}, headers={"If-Match": '"9", "1"'})
    assert (second.status_code, second.headers["etag"]) == (200, '"2"')
    assert second.json()["limits"] == {}
    assert (await api.admin.put(path, json=body, headers={"If-Match": "*"})).headers["etag"] == '"3"'


async def test_the_tag_of_an_empty_quota_is_good_once(api: Any) -> None:
    await api.make_team("nlp", gpus=None)
    put = [
        api.admin.put("/v1/teams/nlp/quota", json={"max_jobs": number}, headers={"If-Match": '"0"'})
        for number in range(5)
    ]
    assert sorted(answer.status_code for answer in await asyncio.gather(*put)) == [200] + [412] * 4


@pytest.mark.parametrize(
    ("limits", "pointer"),
    [
        ({"gpu": {"outstanding": 1}}, "/limits/gpu"),
        ({"cpu": {"outstanding": 1}}, "/limits/cpu"),
        ({"memory": {"outstanding": 1}}, "/limits/memory"),
        ({"requests.nvidia.com/gpu": {}}, "/limits/requests.nvidia.com~1gpu"),
        ({"kubernetes.io/gpu": {}}, "/limits/kubernetes.io~1gpu"),
        ({"nvidia.com/": {}}, "/limits/nvidia.com~1"),
        ({"nvidia.com/gpu ": {}}, "/limits/nvidia.com~1gpu "),
        ({"Nvidia.com/gpu": {}}, "/limits/Nvidia.com~1gpu"),
        ({"nvidia.com/a/b": {}}, "/limits/nvidia.com~1a~1b"),
        ({GPU: "abc"}, "/limits/nvidia.com~1gpu"),
        ({GPU: 8}, "/limits/nvidia.com~1gpu"),
        ({GPU: {"outstanding": "8"}}, "/limits/nvidia.com~1gpu/outstanding"),
        ({GPU: {"outstanding": -1}}, "/limits/nvidia.com~1gpu/outstanding"),
        ({GPU: {"outstanding": 1.5}}, "/limits/nvidia.com~1gpu/outstanding"),
        ({GPU: {"per_job": True}}, "/limits/nvidia.com~1gpu/per_job"),
        ({GPU: {"per_job": 10**30}}, "/limits/nvidia.com~1gpu/per_job"),
        ({GPU: {"per_user": 1}}, "/limits/nvidia.com~1gpu/per_user"),
        ([], "/limits"),
        (None, "/limits"),
    ],
)
async def test_limits_that_mean_nothing_are_refused(api: Any, limits: object, pointer: str) -> None:
    await api.make_team("nlp", gpus=None)
    assert pointers(await api.admin.put("/v1/teams/nlp/quota", json={"limits": limits})) == [pointer]
    assert (await api.admin.get("/v1/teams/nlp/quota")).headers["etag"] == '"0"'


@pytest.mark.parametrize(
    "field", [{"max_jobs": -1}, {"max_jobs": "1"}, {"max_jobs": 2**31}, {"on_over_quota": "wait"}, {"usage": {}}]
)
async def test_quotas_that_mean_nothing_are_refused(api: Any, field: dict[str, object]) -> None:
    await api.make_team("nlp", gpus=None)
    assert pointers(await api.admin.put("/v1/teams/nlp/quota", json=field)) == [f"/{next(iter(field))}"]


async def test_the_quota_of_no_team_is_not_found(api: Any) -> None:
    assert (await api.admin.get("/v1/teams/nobody/quota")).status_code == 404
    assert (await api.admin.put("/v1/teams/nobody/quota", json={})).status_code == 404
