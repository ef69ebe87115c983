from typing import Any

import pytest

from app.simulator.access.attributes import service_account_user
from app.simulator.access.tokens import AUDIENCE, LEEWAY_SECONDS, Tokens
from app.simulator.kinds import SERVICE_ACCOUNT
from app.simulator.store import Store


class Time:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store() -> Store:
    store = Store(1)
    store.put(SERVICE_ACCOUNT, account("a"))
    return store


def account(uid: str, name: str = "robot") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "n", "uid": uid}}


def test_a_token_is_good_until_its_end_and_a_minute_more(store: Store) -> None:
    time = Time()
    tokens = Tokens(store, time)
    token, until = tokens.give(account("a"), 600, [AUDIENCE])
    assert until == time.now + 600
    time.now += 600 + LEEWAY_SECONDS
    assert tokens.user_of(token) == service_account_user("n", "robot")
    time.now += 1
    assert tokens.user_of(token) is None


def test_a_token_is_bound_to_the_account_that_it_was_made_for(store: Store) -> None:
    tokens = Tokens(store)
    token, _ = tokens.give(account("a"), 600, [AUDIENCE])
    store.remove(SERVICE_ACCOUNT, ("n", "robot"))
    assert tokens.user_of(token) is None
    store.put(SERVICE_ACCOUNT, account("b"))
    assert tokens.user_of(token) is None


def test_a_token_of_another_process_or_audience_is_nobodys(store: Store) -> None:
    tokens = Tokens(store)
    assert tokens.user_of(Tokens(store).give(account("a"), 600, [AUDIENCE])[0]) is None
    assert tokens.user_of(tokens.give(account("a"), 600, ["elsewhere"])[0]) is None


@pytest.mark.parametrize("text", ["", ".", "..", "x", "a.b.c", "é.é.é", "a" * 10_000])
def test_nonsense_is_nobodys(store: Store, text: str) -> None:
    assert Tokens(store).user_of(text) is None


def test_tokens_are_ended_by_a_switch_and_new_ones_are_good(store: Store) -> None:
    store.put(SERVICE_ACCOUNT, account("c", "other"))
    tokens = Tokens(store)
    old, _ = tokens.give(account("a"), 600, [AUDIENCE])
    others, _ = tokens.give(account("c", "other"), 600, [AUDIENCE])
    assert tokens.expire("n", "robot") == 1
    new, _ = tokens.give(account("a"), 600, [AUDIENCE])
    assert [tokens.user_of(token) is None for token in (old, others, new)] == [True, False, False]
    assert tokens.expire() == 2
    assert tokens.user_of(new) is None
