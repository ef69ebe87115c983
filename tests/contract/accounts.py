"""Service accounts made for one test, with a role of their own, over plain HTTP on either server."""

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

import aiohttp

RBAC = "rbac.authorization.k8s.io"
ROLES = f"/apis/{RBAC}/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
LIMIT_SECONDS = 30
"""A kube-apiserver sees new roles at once or a moment later, and believes in a good token for ten seconds."""

Rule = dict[str, list[str]]


def rule(group: str, resources: Sequence[str], verbs: Sequence[str], names: Sequence[str] = ()) -> Rule:
    made = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return made | ({"resourceNames": list(names)} if names else {})


class Account:
    """One service account; `call` makes its requests."""

    def __init__(self, api: Any, namespace: str, name: str) -> None:
        self.api = api
        self.namespace = namespace
        self.name = name
        self.token = ""
        self.cluster_wide: list[str] = []

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{self.name}"

    async def new_token(self, **spec: Any) -> str:
        status, answer = await self.api.post(f"{self.path}/token", {"spec": spec})
        assert status == 201, answer
        return str(answer["status"]["token"])

    async def call(
        self, method: str, path: str, body: Any = None, token: str | None = None, **query: str | int
    ) -> tuple[int, Any]:
        patch = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {
            "Authorization": f"Bearer {self.token if token is None else token}",
            "Content-Type": patch,
            "Accept": "application/json",
        }
        async with self.api.session.request(
            method, self.api.url + path, json=body, headers=headers, params=query
        ) as answer:
            return answer.status, await read(answer)

    async def until(self, status: int, method: str, path: str, body: Any = None, **query: str | int) -> Any:
        """Repeat a request until it has this status: what the server knows of rights and tokens may be a moment old."""
        found: Any = None
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                while True:
                    found = await self.call(method, path, body, **query)
                    if found[0] == status:
                        return found[1]
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{method} {path} is still answered with {found}") from None

    async def grant(self, *rules: Rule, namespace: str | None = None) -> None:
        """Bind the account to a new role: in one namespace, or everywhere. Rights that it has stay."""
        name = f"contract-{uuid.uuid4().hex[:8]}"
        where = f"{ROLES}/namespaces/{namespace}" if namespace else ROLES
        kind, roles, bindings = (
            ("Role", "roles", "rolebindings") if namespace else ("ClusterRole", "clusterroles", "clusterrolebindings")
        )
        for plural, body in (
            (roles, {"metadata": {"name": name}, "rules": list(rules)}),
            (bindings, {"metadata": {"name": name}, **self.bound_to(kind, name)}),
        ):
            status, answer = await self.api.post(f"{where}/{plural}", body)
            assert status == 201, answer
            if not namespace:
                self.cluster_wide.append(f"{where}/{plural}/{name}")

    def bound_to(self, kind: str, name: str) -> dict[str, Any]:
        subject = {"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace}
        return {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": name}, "subjects": [subject]}

    async def may(self, verb: str, resource: str, group: str = "", **more: str) -> dict[str, Any]:
        """Ask the server, as the account, whether the account may do something."""
        attributes = {"verb": verb, "resource": resource, "group": group, **more}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        path = f"{REVIEWS}/selfsubjectaccessreviews"
        status, answer = await self.call("POST", path, {**review, "spec": {"resourceAttributes": attributes}})
        assert status == 201, answer
        return dict(answer["status"])

    async def forget(self) -> None:
        for path in self.cluster_wide:
            await self.api.delete(path)


async def read(answer: aiohttp.ClientResponse) -> Any:
    return await answer.json() if answer.content_type == "application/json" else await answer.text()


async def make_account(api: Any, namespace: str, name: str = "tester") -> Account:
    account = Account(api, namespace, name)
    path, _, _ = account.path.rpartition("/")
    status, answer = await api.post(path, {"metadata": {"name": name}})
    assert status == 201, answer
    account.token = await account.new_token()
    return account
