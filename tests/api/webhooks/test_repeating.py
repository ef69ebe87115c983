"""What is sent again, by itself or by hand, and what is not, whoever comes and goes meanwhile."""

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from standardwebhooks import WebhookVerificationError

from tests.api.webhooks.conftest import Hooks
from tests.api.webhooks.receiver import Receiver, hang


async def test_a_message_is_given_up_after_its_last_attempt_and_can_be_sent_again(
    hooks: Hooks, receiver: Receiver
) -> None:
    receiver.usual = 500
    hook = await hooks.add(receiver.url(), "job.accepted")
    before = hooks.metric("dead")
    await hooks.submit()
    async with hooks.sending():
        await receiver.until_messages(2)  # from the second failure on there are pauses
        for attempt in (3, 4, 5):
            await hooks.let_pauses_pass(hook)
            await receiver.until_messages(attempt)
        (dead,) = await hooks.until_deliveries(hook, "dead")
        assert (dead["attempts"], dead["last_status"], dead["next_at"]) == (5, 500, None)
        assert dead["last_error"] == "It answered 500, which is not a success."
        await hooks.until_metric("dead", before + 1)
        assert await hooks.deliveries(hook, "pending") == []
        receiver.usual = 200
        again = await hooks.call("POST", hook, f"/deliveries/{dead['id']}/resend")
        assert (again["state"], again["attempts"], again["message_id"]) == ("pending", 0, dead["message_id"])
        await hooks.let_pauses_pass(hook)
        (delivered,) = await hooks.until_deliveries(hook, "delivered")
    assert (delivered["id"], delivered["attempts"]) == (dead["id"], 1)
    assert set(receiver.ids) == {dead["message_id"]}
    assert len(receiver.messages) == 6
    assert await hooks.deliveries(hook, "dead") == []


async def test_gone_turns_the_endpoint_off(hooks: Hooks, receiver: Receiver) -> None:
    receiver.script = [410]
    hook = await hooks.add(receiver.url(), "job.accepted")
    await hooks.submit("first")
    await hooks.submit("second")
    async with hooks.sending():
        await hooks.until_deliveries(hook, "dead")
        off = await hooks.read(hook)
        assert (off["enabled"], off["disabled_reason"]) == (False, "Gone")
        await hooks.submit("third")  # happens while it is off
        on = await hooks.call("PATCH", hook, json={"enabled": True})
        assert (on["enabled"], on["disabled_reason"]) == (True, None)
        await hooks.submit("fourth")
        await receiver.until_messages(3)
    names = [json.loads(message.body)["data"]["job"]["name"] for message in receiver.messages]
    assert names == ["first", "second", "fourth"]


async def test_an_endpoint_that_fails_for_too_long_is_turned_off(hooks: Hooks, receiver: Receiver) -> None:
    receiver.usual = 503
    hook = await hooks.add(receiver.url(), "job.accepted")
    await hooks.submit()

    async def off() -> bool:
        return not (await hooks.read(hook))["enabled"]

    async with hooks.sending(webhook_disable_seconds=1e-9):
        await hooks.until(off)
    assert (await hooks.read(hook))["disabled_reason"] == "Failing"
    (pending,) = await hooks.deliveries(hook, "pending")
    assert pending["attempts"] == 2


async def test_events_are_sent_again_from_an_id_on_with_the_ids_that_they_had(hooks: Hooks, receiver: Receiver) -> None:
    hook = await hooks.add(receiver.url(), "job.accepted")
    jobs = [await hooks.submit() for _ in range(3)]
    async with hooks.sending():
        await receiver.until_messages(3)
        first = json.loads(receiver.messages[0].body)["data"]["event"]["id"]
        await hooks.until_deliveries(hook, "delivered", 3)
        place = await hooks.read(hook)
        ahead = await hooks.call("POST", hook, "/replay", json={"after": place["position"] + 100})
        assert ahead["position"] == place["position"]
        back = await hooks.call("POST", hook, "/replay", json={"after": first})
        assert back["position"] == first
        await receiver.until_messages(5)
        await hooks.submit()
        await receiver.until_messages(6)
        await hooks.until_deliveries(hook, "delivered", 4)
    sent = [json.loads(message.body)["data"]["job"]["id"] for message in receiver.messages]
    assert sent[:5] == [job["id"] for job in (*jobs, *jobs[1:])]
    assert receiver.ids[3:5] == receiver.ids[1:3]
    assert len(set(receiver.ids)) == 4


async def test_a_replay_reaches_back_to_what_happened_before_the_webhook_was_there(
    hooks: Hooks, receiver: Receiver
) -> None:
    job = await hooks.submit()
    hook = await hooks.add(receiver.url(), "job.accepted")
    async with hooks.sending():
        await hooks.call("POST", hook, "/replay", json={"after": 0})
        (message,) = await receiver.until_messages(1)
    assert json.loads(message.body)["data"]["job"]["id"] == job["id"]


async def test_during_a_rotation_both_secrets_sign_and_later_only_the_new_one(hooks: Hooks, receiver: Receiver) -> None:
    hook = await hooks.add(receiver.url())
    new = await hooks.call("POST", hook, "/rotate-secret")
    async with hooks.sending():
        await hooks.call("POST", hook, "/test")
        await receiver.until_messages(1)
        for secret in (hook["secret"], new["secret"]):
            receiver.messages[0].verified(secret)
        newest = await hooks.call("POST", hook, "/rotate-secret")
        await hooks.call("POST", hook, "/test")
        await receiver.until_messages(2)
        receiver.messages[1].verified(newest["secret"])
        receiver.messages[1].verified(new["secret"])
        with pytest.raises(WebhookVerificationError):
            receiver.messages[1].verified(hook["secret"])
        await hooks.let_the_previous_secret_end(hook)
        await hooks.call("POST", hook, "/test")
        await receiver.until_messages(3)
    receiver.messages[2].verified(newest["secret"])
    with pytest.raises(WebhookVerificationError):
        receiver.messages[2].verified(new["secret"])


async def test_what_is_on_its_way_when_the_sender_stops_is_sent_by_the_next_one(
    hooks: Hooks, receiver: Receiver
) -> None:
    receiver.script = [204, hang]
    hook = await hooks.add(receiver.url(), "job.accepted")
    for _ in range(4):
        await hooks.submit()
    async with hooks.sending():
        await receiver.until_messages(2)
    assert len(await hooks.deliveries(hook, "delivered")) == 1
    async with hooks.sending():
        await receiver.until_messages(5)
        await hooks.until_deliveries(hook, "delivered", 4)
    assert receiver.ids[1] == receiver.ids[2]
    assert len(set(receiver.ids)) == 4


async def test_two_senders_at_once_send_everything_once(hooks: Hooks, receiver: Receiver) -> None:
    await asyncio.gather(*(hooks.add(receiver.url(f"/{place}"), "job.accepted") for place in range(4)))
    async with hooks.sending(), hooks.sending():
        for _ in range(10):
            await hooks.submit()
        await receiver.until_messages(40)
    assert len(receiver.messages) == len(set(receiver.ids)) == 40


async def test_a_sender_that_lost_its_endpoint_writes_nothing_more_and_the_message_is_repeated(
    hooks: Hooks, receiver: Receiver
) -> None:
    go_on = asyncio.Event()

    async def slow(request: Any) -> Any:
        await go_on.wait()
        return web.Response(status=500)

    receiver.script = [slow]
    hook = await hooks.add(receiver.url(), "job.accepted")
    await hooks.submit()
    async with hooks.sending():
        await receiver.until_messages(1)
        await hooks.let_the_lease_run_out(hook)
        async with hooks.sending():  # another leader, while the first one still waits for its answer
            (delivery,) = await hooks.until_deliveries(hook, "delivered")
            go_on.set()
            await hooks.call("POST", hook, "/test")
            await receiver.until_messages(3)
            await hooks.until_deliveries(hook, "delivered", 2)
    assert receiver.ids[0] == receiver.ids[1] == delivery["message_id"]
    found = await hooks.call("GET", hook, f"/deliveries/{delivery['id']}")
    assert (found["state"], found["attempts"], found["last_status"]) == ("delivered", 1, 204)


async def test_a_webhook_that_is_removed_in_the_middle_gets_nothing_more(hooks: Hooks, receiver: Receiver) -> None:
    go_on = asyncio.Event()

    async def slow(request: Any) -> Any:
        await go_on.wait()
        return web.Response(status=204)

    receiver.script = [slow]
    hook = await hooks.add(receiver.url("/removed"), "job.accepted")
    for _ in range(3):
        await hooks.submit()
    async with hooks.sending():
        await receiver.until_messages(1)
        await hooks.call("DELETE", hook)
        go_on.set()
        other = await hooks.add(receiver.url("/other"))
        await hooks.call("POST", other, "/test")
        await hooks.until_deliveries(other, "delivered")
    assert [message.path for message in receiver.messages] == ["/removed", "/other"]


async def test_ended_deliveries_are_removed_after_a_while_and_keep_their_ids_in_a_replay(
    hooks: Hooks, receiver: Receiver
) -> None:
    hook = await hooks.add(receiver.url(), "job.accepted")
    await hooks.submit()
    async with hooks.sending():
        (delivery,) = await hooks.until_deliveries(hook, "delivered")

    async def nothing_left() -> bool:
        return await hooks.deliveries(hook) == []

    async with hooks.sending(webhook_delivered_seconds=0.0):
        await hooks.until(nothing_left)
    async with hooks.sending():
        await hooks.call("POST", hook, "/replay", json={"after": 0})
        await receiver.until_messages(2)
    assert receiver.ids == [delivery["message_id"]] * 2


async def test_pages_of_deliveries_begin_with_the_latest(hooks: Hooks, receiver: Receiver) -> None:
    hook = await hooks.add(receiver.url(), "job.accepted")
    for _ in range(5):
        await hooks.submit()
    async with hooks.sending():
        await hooks.until_deliveries(hook, "delivered", 5)
    first = await hooks.call("GET", hook, "/deliveries", params={"limit": 3, "state": "delivered"})
    query = {"limit": 3, "state": "delivered", "cursor": first["next_cursor"]}
    second = await hooks.call("GET", hook, "/deliveries", params=query)
    events = [delivery["event_id"] for delivery in first["items"] + second["items"]]
    assert len(events) == 5
    assert events == sorted(events, reverse=True)
