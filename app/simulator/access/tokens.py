"""Tokens of service accounts: signed, bound to the account's uid, with an end.

The form is a JWT (RFC 7519) with the claims that Kubernetes puts in (k8s.io/kubernetes/pkg/serviceaccount, read at
v1.36). The key is made anew with each process, so a restarted cluster accepts none of its old tokens.
"""

import base64
import hashlib
import hmac
import json
import secrets
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from app.simulator.access.attributes import User, service_account_user
from app.simulator.kinds import SERVICE_ACCOUNT
from app.simulator.objects import Object
from app.simulator.store import Store

AUDIENCE = "https://kubernetes.default.svc.cluster.local"
"""What a token is for when its request does not say."""

LEEWAY_SECONDS = 60
"""A kube-apiserver accepts a token for a minute after its end, in case clocks differ (go-jose, `DefaultLeeway`)."""

_HEADER: Object = {"alg": "HS256", "typ": "JWT"}


class Tokens:
    """Gives tokens out and reads them. `clock` counts seconds since 1970."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._ended: set[str] = set()
        self._given: dict[str, str] = {}

    def give(self, account: Object, seconds: int, audiences: Sequence[str]) -> tuple[str, float]:
        """A new token of an account, and when it ends."""
        metadata, now = account["metadata"], self._clock()
        user = service_account_user(metadata["namespace"], metadata["name"])
        claims: Object = {
            "aud": list(audiences),
            "exp": int(now) + seconds,
            "iat": int(now),
            "iss": AUDIENCE,
            "jti": str(uuid.uuid4()),
            "kubernetes.io": {
                "namespace": metadata["namespace"],
                "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
            },
            "nbf": int(now),
            "sub": user.name,
        }
        self._given[claims["jti"]] = user.name
        signed = f"{_encoded(_HEADER)}.{_encoded(claims)}"
        return f"{signed}.{self._signature(signed)}", now + seconds

    def user_of(self, token: str) -> User | None:
        """Whom a token stands for; None when it is not ours, has ended, or its account is gone or another one."""
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(self._signature(signed).encode(), signature.encode()):
            return None
        claims = _decoded(signed.rpartition(".")[2])
        if AUDIENCE not in claims["aud"] or self._is_over(claims):
            return None
        named = claims["kubernetes.io"]
        account = self._store.get(SERVICE_ACCOUNT, (named["namespace"], named["serviceaccount"]["name"]))
        if account is None or account.object["metadata"]["uid"] != named["serviceaccount"]["uid"]:
            return None
        return service_account_user(named["namespace"], named["serviceaccount"]["name"])

    def expire(self, namespace: str | None = None, name: str | None = None) -> int:
        """End the tokens given out so far, of one account or of all, as time would; returns how many."""
        only = None if namespace is None or name is None else service_account_user(namespace, name).name
        ended = [jti for jti, user in self._given.items() if only in (None, user)]
        for jti in ended:
            del self._given[jti]
        self._ended.update(ended)
        return len(ended)

    def _is_over(self, claims: Object) -> bool:
        return claims["jti"] in self._ended or self._clock() > claims["exp"] + LEEWAY_SECONDS

    def _signature(self, signed: str) -> str:
        return _base64(hmac.new(self._key, signed.encode(), hashlib.sha256).digest())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _encoded(value: Object) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _decoded(text: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
