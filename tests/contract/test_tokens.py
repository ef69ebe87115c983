"""Tokens of service accounts: how they are given, and what becomes of them, on both servers."""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.contract.accounts import Account, make_account, rule

UNAUTHORIZED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "Unauthorized",
    "reason": "Unauthorized",
    "code": 401,
}
WHO = "/apis"
"""A path that every authenticated user may read."""


@pytest.fixture
async def account(api: Any, namespace: str) -> Account:
    return await make_account(api, namespace)


def request(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


async def test_a_token_says_whom_it_is_for_and_until_when(account: Account, api: Any) -> None:
    asked_at = datetime.now(UTC)
    status, answer = await api.post(f"{account.path}/token", request(expirationSeconds=600))
    assert status == 201
    assert (answer["kind"], answer["apiVersion"]) == ("TokenRequest", "authentication.k8s.io/v1")
    _, stored = await api.get(account.path)
    metadata = answer["metadata"]
    assert (metadata["name"], metadata["namespace"]) == (account.name, account.namespace)
    assert metadata["uid"] == stored["metadata"]["uid"]
    assert answer["spec"]["expirationSeconds"] == 600
    assert len(answer["spec"]["audiences"]) == 1
    until = datetime.fromisoformat(answer["status"]["expirationTimestamp"])
    assert timedelta(seconds=595) < until - asked_at < timedelta(seconds=630)
    claims = _claims(answer["status"]["token"])
    assert claims["sub"] == account.user
    assert claims["aud"] == answer["spec"]["audiences"]
    assert claims["kubernetes.io"]["serviceaccount"] == {"name": account.name, "uid": metadata["uid"]}
    assert (await account.call("GET", WHO, token=answer["status"]["token"]))[0] == 200


def _claims(token: str) -> dict[str, Any]:
    middle = token.split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4))))


async def test_a_token_lasts_an_hour_unless_something_else_is_asked(account: Account, api: Any) -> None:
    status, answer = await api.post(f"{account.path}/token", request())
    assert (status, answer["spec"]["expirationSeconds"]) == (201, 3600)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (599, "may not specify a duration less than 10 minutes"),
        (0, "may not specify a duration less than 10 minutes"),
        (-1, "may not specify a duration less than 10 minutes"),
        (2**32 + 1, "may not specify a duration larger than 2^32 seconds"),
    ],
)
async def test_the_bounds_of_a_duration(account: Account, api: Any, seconds: int, words: str) -> None:
    status, refusal = await api.post(f"{account.path}/token", request(expirationSeconds=seconds))
    text = f"Invalid value: {seconds}: {words}"
    assert (status, refusal["reason"]) == (422, "Invalid")
    assert refusal["message"] == f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: {text}'
    cause = {"reason": "FieldValueInvalid", "message": text, "field": "spec.expirationSeconds"}
    assert refusal["details"] == {"group": "authentication.k8s.io", "kind": "TokenRequest", "causes": [cause]}


async def test_a_token_of_nobody_is_404(api: Any, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/nobody/token"
    status, refusal = await api.post(path, request())
    assert (status, refusal["message"]) == (404, 'serviceaccounts "nobody" not found')
    assert (await api.get(path))[0] in (404, 405)


async def test_a_request_for_another_account_than_its_path_is_refused(account: Account, api: Any) -> None:
    wrong_name = {**request(), "metadata": {"name": "another"}}
    status, refusal = await api.post(f"{account.path}/token", wrong_name)
    assert (status, refusal["reason"]) in ((422, "Invalid"), (400, "BadRequest"))
    wrong_uid = {**request(), "metadata": {"uid": "00000000-0000-0000-0000-000000000000"}}
    status, refusal = await api.post(f"{account.path}/token", wrong_uid)
    assert (status, refusal["reason"]) == (409, "Conflict")


async def test_an_account_needs_a_right_to_make_tokens(account: Account) -> None:
    status, refusal = await account.call("POST", f"{account.path}/token", request())
    assert status == 403
    words = f'User "{account.user}" cannot create resource "serviceaccounts/token" in API group ""'
    where = f'in the namespace "{account.namespace}"'
    assert refusal["message"] == f'serviceaccounts "{account.name}" is forbidden: {words} {where}'
    own = rule("", ["serviceaccounts/token"], ["create"], [account.name])
    await account.grant(own, namespace=account.namespace)
    await account.until(201, "POST", f"{account.path}/token", request())


@pytest.mark.parametrize("token", ["nobody", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ."])
async def test_an_unknown_token_is_401(account: Account, token: str) -> None:
    for path in (WHO, "/api/v1/nodes", "/api/v1/no-such-kind"):
        assert await account.call("GET", path, token=token) == (401, UNAUTHORIZED)
    namespaces = "/api/v1/namespaces"
    assert await account.call("POST", namespaces, {"metadata": {"name": "x"}}, token=token) == (401, UNAUTHORIZED)


async def test_a_token_that_was_changed_is_401(account: Account) -> None:
    head, claims, signature = account.token.split(".")
    theirs = {**_claims(account.token), "sub": "system:serviceaccount:kube-system:root"}
    forged = base64.urlsafe_b64encode(json.dumps(theirs).encode()).rstrip(b"=").decode()
    assert await account.call("GET", WHO, token=f"{head}.{forged}.{signature}") == (401, UNAUTHORIZED)
    assert (await account.call("GET", WHO, token=f"{head}.{claims}.{signature}"))[0] == 200


async def test_a_token_for_another_audience_is_401(account: Account) -> None:
    token = await account.new_token(audiences=["https://somebody.example.test"])
    assert await account.call("GET", WHO, token=token) == (401, UNAUTHORIZED)


async def test_the_token_of_a_deleted_account_is_401_and_stays_so(account: Account, api: Any) -> None:
    await account.until(200, "GET", WHO)
    status, deleted = await api.delete(account.path)
    assert (status, deleted["kind"]) == (200, "ServiceAccount")
    assert await account.until(401, "GET", WHO) == UNAUTHORIZED
    again = await make_account(api, account.namespace)
    await again.until(200, "GET", WHO)
    assert await account.call("GET", WHO) == (401, UNAUTHORIZED)


async def test_two_tokens_of_one_account_are_good_at_a_time(account: Account) -> None:
    old, new = account.token, await account.new_token(expirationSeconds=600)
    assert old != new
    for token in (old, new):
        assert (await account.call("GET", WHO, token=token))[0] == 200


async def test_an_expired_token_is_401_and_a_new_one_is_good(account: Account, cluster: Any) -> None:
    assert (await account.call("GET", WHO))[0] == 200
    assert cluster.faults.expire_tokens(account.namespace, account.name) == 1
    assert await account.call("GET", WHO) == (401, UNAUTHORIZED)
    account.token = await account.new_token()
    assert (await account.call("GET", WHO))[0] == 200


async def test_tokens_are_expired_over_http(account: Account, api: Any, cluster: Any) -> None:
    assert (await api.post("/simulator/tokens/expire", {"namespace": account.namespace, "name": "another"}))[0] == 200
    assert (await account.call("GET", WHO))[0] == 200
    assert (await account.call("POST", "/simulator/tokens/expire", {}))[0] == 403
    assert (await api.post("/simulator/tokens/expire", {}))[0] == 200
    assert await account.call("GET", WHO) == (401, UNAUTHORIZED)


async def test_a_watch_goes_on_though_its_token_expires(
    account: Account, api: Any, config_maps: str, cluster: Any
) -> None:
    await account.grant(rule("", ["configmaps"], ["list", "watch"]), namespace=account.namespace)
    async with await _watch(account, config_maps) as answer:
        cluster.faults.expire_tokens()
        assert await account.call("GET", config_maps) == (401, UNAUTHORIZED)
        await _create_and_see(api, config_maps, answer)


async def test_a_watch_goes_on_though_its_account_is_deleted(account: Account, api: Any, config_maps: str) -> None:
    await account.grant(rule("", ["configmaps"], ["list", "watch"]), namespace=account.namespace)
    async with await _watch(account, config_maps) as answer:
        assert (await api.delete(account.path))[0] == 200
        assert await account.until(401, "GET", config_maps) == UNAUTHORIZED
        await _create_and_see(api, config_maps, answer)


async def _watch(account: Account, path: str) -> Any:
    listed = await account.until(200, "GET", path)
    query = {"watch": "1", "resourceVersion": listed["metadata"]["resourceVersion"]}
    headers = {"Authorization": f"Bearer {account.token}"}
    answer = await account.api.session.get(account.api.url + path, params=query, headers=headers)
    assert answer.status == 200
    return answer


async def _create_and_see(api: Any, path: str, answer: Any) -> None:
    assert (await api.post(path, {"metadata": {"name": "late"}}))[0] == 201
    async with asyncio.timeout(15):
        event = json.loads(await answer.content.readline())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "late")
