import logging
from typing import Any

import pytest
from cryptography.fernet import Fernet
from httpx import AsyncClient
from pydantic import SecretStr
from sqlalchemy import text

from app.db import Sessions
from app.main import create_app
from app.settings import Settings
from tests.api.conftest import Api
from tests.api.test_problems import problem
from tests.api.webhooks.conftest import HOOKS, Hooks

URL = "https://hooks.example.com/pumice?k=1"
NOBODY = "01890000-0000-7000-8000-000000000000"


def routes(hook_id: str) -> list[tuple[str, str, Any]]:
    """Every route of one webhook, with a body that it takes."""
    one = f"{HOOKS}/{hook_id}"
    return [
        ("GET", one, None),
        ("PATCH", one, {"description": "x"}),
        ("POST", f"{one}/rotate-secret", None),
        ("POST", f"{one}/test", None),
        ("POST", f"{one}/replay", {"after": 0}),
        ("GET", f"{one}/deliveries", None),
        ("GET", f"{one}/deliveries/{NOBODY}", None),
        ("POST", f"{one}/deliveries/{NOBODY}/resend", None),
        ("DELETE", one, None),
    ]


async def test_a_webhook_is_added_read_changed_and_removed(hooks: Hooks) -> None:
    body = {"url": URL, "events": ["job.failed", "job.succeeded"], "description": "pipeline"}
    answer = await hooks.client.post(HOOKS, json=body)
    made = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{HOOKS}/{made['id']}"
    assert made.pop("secret").startswith("whsec_")
    assert made == await hooks.read(made)
    assert {name: made[name] for name in body} == body
    assert (made["team"], made["enabled"], made["disabled_reason"]) == ("nlp", True, None)
    assert made["created_by"] == "u-nlp"
    changed = await hooks.call("PATCH", made, json={"events": [], "enabled": False})
    assert changed == {**made, "events": [], "enabled": False, "updated_at": changed["updated_at"]}
    assert changed["updated_at"] > made["updated_at"]
    assert (await hooks.client.get(HOOKS)).json() == {"items": [changed], "next_cursor": None}
    assert await hooks.call("DELETE", made) is None
    problem(await hooks.client.get(f"{HOOKS}/{made['id']}"), 404, "not-found")
    assert (await hooks.client.get(HOOKS)).json()["items"] == []


async def test_a_patch_that_changes_nothing_is_no_change(hooks: Hooks) -> None:
    made = await hooks.add(URL)
    assert await hooks.call("PATCH", made, json={}) == await hooks.read(made)
    assert await hooks.call("PATCH", made, json={"url": URL}) == await hooks.read(made)


@pytest.mark.parametrize("role", ["viewer", "submitter"])
async def test_only_managers_and_admins_may(api: Api, hooks: Hooks, role: str) -> None:
    made = await hooks.add(URL)
    member = await api.member("nlp", role)
    for method, path, body in [("POST", HOOKS, {"url": URL}), ("GET", HOOKS, None), *routes(made["id"])]:
        problem(await member.request(method, path, json=body), 403, "forbidden")
    assert (await api.admin.get(f"{HOOKS}/{made['id']}")).status_code == 200


async def test_another_teams_webhook_does_not_exist(api: Api, hooks: Hooks) -> None:
    made = await hooks.add(URL)
    await api.make_team("cv")
    stranger = await api.member("cv", "manager")
    for method, path, body in routes(made["id"]):
        problem(await stranger.request(method, path, json=body), 404, "not-found")
        moved = path.replace("/nlp/", "/cv/")
        problem(await stranger.request(method, moved, json=body), 404, "not-found")
    for method in ("GET", "POST"):
        problem(await api.admin.request(method, "/v1/teams/nobody/webhooks", json={"url": URL}), 404, "not-found")
    assert (await hooks.read(made))["url"] == URL


async def test_what_is_not_there_is_not_found(hooks: Hooks) -> None:
    for method, path, body in routes(NOBODY):
        problem(await hooks.client.request(method, path, json=body), 404, "not-found")


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "/url", "missing"),
        ({"url": "ftp://hooks.example.com"}, "/url", "url"),
        ({"url": "https://u:p@hooks.example.com"}, "/url", "url-userinfo"),
        ({"url": "https://10.0.0.1/hunter2"}, "/url", "address-not-public"),
        ({"url": "https://[::ffff:169.254.169.254]/hunter2"}, "/url", "address-not-public"),
        ({"url": "https://localhost/hunter2"}, "/url", "address-not-public"),
        ({"url": "https://2130706433/"}, "/url", "url-host"),
        ({"url": "https://a.example/" + "x" * 2048}, "/url", "string-too-long"),
        ({"url": URL, "events": ["job.hunter2"]}, "/events/0", "event-type"),
        ({"url": URL, "events": ["job.failed", "job.failed"]}, "/events", "duplicate"),
        ({"url": URL, "events": "job.failed"}, "/events", "list-type"),
        ({"url": URL, "enabled": "yes"}, "/enabled", "bool-type"),
        ({"url": URL, "description": "x" * 501}, "/description", "string-too-long"),
        ({"url": URL, "secret": "whsec_hunter2"}, "/secret", "extra-forbidden"),
    ],
)
async def test_a_body_that_is_refused(hooks: Hooks, body: dict[str, Any], pointer: str, code: str) -> None:
    answer = await hooks.client.post(HOOKS, json=body)
    found = problem(answer, 422, "validation-error")
    assert [(fault["pointer"], fault["code"]) for fault in found["errors"]] == [(pointer, code)]
    assert "hunter2" not in answer.text


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"url": "https://10.0.0.1/"}, "/url", "address-not-public"),
        ({"url": None}, "/url", "null"),
        ({"enabled": None}, "/enabled", "null"),
        ({"position": 0}, "/position", "extra-forbidden"),
    ],
)
async def test_a_change_that_is_refused(hooks: Hooks, body: dict[str, Any], pointer: str, code: str) -> None:
    made = await hooks.add(URL)
    answer = await hooks.client.patch(f"{HOOKS}/{made['id']}", json=body)
    assert problem(answer, 422, "validation-error")["errors"][0]["pointer"] == pointer
    assert problem(answer, 422, "validation-error")["errors"][0]["code"] == code
    assert (await hooks.read(made))["url"] == URL


async def test_http_is_refused_unless_the_operator_allows_it(settings: Settings, sessions: Sessions, api: Api) -> None:
    strict = Api(create_app(settings.model_copy(update={"webhook_allow_http": False}), sessions))
    await api.make_team("nlp")
    answer = await strict.admin.post(HOOKS, json={"url": "http://hooks.example.com/"})
    assert problem(answer, 422, "validation-error")["errors"][0]["code"] == "url"
    assert (await api.admin.post(HOOKS, json={"url": "http://hooks.example.com/"})).status_code == 201
    await strict.close()


async def test_a_team_has_so_many_and_no_more(settings: Settings, sessions: Sessions, api: Api) -> None:
    await api.make_team("nlp")
    few = Api(create_app(settings.model_copy(update={"webhooks_per_team": 2}), sessions))
    made = [await few.admin.post(HOOKS, json={"url": URL}) for _ in range(3)]
    assert [answer.status_code for answer in made] == [201, 201, 409]
    assert "2" in problem(made[2], 409, "conflict")["detail"]
    assert (await few.admin.delete(f"{HOOKS}/{made[0].json()['id']}")).status_code == 204
    assert (await few.admin.post(HOOKS, json={"url": URL})).status_code == 201
    await few.close()


async def test_pages_of_webhooks(hooks: Hooks) -> None:
    made = [(await hooks.add(URL))["id"] for _ in range(3)]
    first = (await hooks.client.get(HOOKS, params={"limit": 2})).json()
    second = (await hooks.client.get(HOOKS, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [hook["id"] for hook in first["items"] + second["items"]] == made
    assert second["next_cursor"] is None


async def test_a_secret_is_told_once_and_never_logged(hooks: Hooks, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = await hooks.add(URL)
    rotated = await hooks.call("POST", made, "/rotate-secret")
    assert rotated["secret"].startswith("whsec_")
    assert rotated["secret"] != made["secret"]
    seen = [
        (await hooks.client.get(HOOKS)).text,
        (await hooks.client.get(f"{HOOKS}/{made['id']}")).text,
        (await hooks.client.patch(f"{HOOKS}/{made['id']}", json={"description": "x"})).text,
        caplog.text,
    ]
    for text_ in seen:
        assert "whsec_" not in text_
        assert made["secret"].removeprefix("whsec_") not in text_
        assert rotated["secret"].removeprefix("whsec_") not in text_
    assert (await hooks.read(made))["previous_secret_until"] == rotated["previous_secret_until"]


async def test_with_keys_no_secret_can_be_read_in_the_database(
    settings: Settings, sessions: Sessions, api: Api
) -> None:
    await api.make_team("nlp")
    keys = [SecretStr(Fernet.generate_key().decode())]
    sealed = Api(create_app(settings.model_copy(update={"webhook_keys": keys}), sessions))
    made = (await sealed.admin.post(HOOKS, json={"url": URL})).json()
    new = (await sealed.admin.post(f"{HOOKS}/{made['id']}/rotate-secret")).json()
    async with sessions() as session:
        row = str((await session.execute(text("SELECT * FROM webhooks"))).one())
    for secret in (made["secret"], new["secret"]):
        assert secret.removeprefix("whsec_") not in row
    assert "whsec_" not in row
    await sealed.close()


async def test_nothing_can_be_sent_to_a_webhook_that_is_turned_off(hooks: Hooks) -> None:
    made = await hooks.add(URL, enabled=False)
    for path, body in (("/test", None), ("/replay", {"after": 0}), (f"/deliveries/{NOBODY}/resend", None)):
        problem(await hooks.client.post(f"{HOOKS}/{made['id']}{path}", json=body), 409, "conflict")


@pytest.mark.parametrize("after", [-1, 2**63, "1", 1.5, None, True])
async def test_an_id_to_replay_from_is_a_whole_number(hooks: Hooks, after: Any) -> None:
    made = await hooks.add(URL)
    answer = await hooks.client.post(f"{HOOKS}/{made['id']}/replay", json={"after": after})
    assert problem(answer, 422, "validation-error")["errors"][0]["pointer"] == "/after"


async def test_deliveries_of_an_unknown_state_are_refused(hooks: Hooks, client: AsyncClient) -> None:
    made = await hooks.add(URL)
    answer = await client.get(f"{HOOKS}/{made['id']}/deliveries", params={"state": "lost"})
    assert problem(answer, 422, "validation-error")["errors"][0]["pointer"] == "/query/state"
