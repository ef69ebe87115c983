import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from standardwebhooks import WebhookVerificationError

from app.telemetry import REGISTRY
from tests.api.webhooks.conftest import Hooks
from tests.api.webhooks.receiver import Receiver, answer_without_end, hang, hang_up, receiving


def metric(name: str) -> float:
    return REGISTRY.get_sample_value(f"pumice_webhooks_{name}_total") or 0.0


async def test_an_event_is_sent_signed_with_its_job(hooks: Hooks, receiver: Receiver) -> None:
    hook = await hooks.add(receiver.url("/hook?team=nlp"), "job.accepted")
    before = metric("delivered")
    async with hooks.sending():
        job = await hooks.submit("score")
        (message,) = await receiver.until_messages(1)
        (delivery,) = await hooks.until_deliveries(hook, "delivered")
    sent = message.verified(hook["secret"])
    event = (await hooks.client.get(f"/v1/jobs/{job['id']}/events")).json()["items"][0]
    assert sent["type"] == "job.accepted"
    assert sent["timestamp"] == event["at"]
    assert sent["data"] == {"event": event, "job": {name: job[name] for name in job if name != "spec"}}
    assert message.path == "/hook?team=nlp"
    assert message.headers["content-type"] == "application/json"
    assert message.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert b"hunter2" not in message.body
    assert delivery == {
        **delivery,
        "message_id": message.id,
        "event_id": event["id"],
        "type": "job.accepted",
        "attempts": 1,
        "next_at": None,
        "last_status": 204,
        "last_error": None,
    }
    assert metric("delivered") == before + 1


async def test_a_webhook_gets_what_happens_after_it_was_added_and_what_it_asks_for(
    hooks: Hooks, receiver: Receiver
) -> None:
    await hooks.cancel(await hooks.submit())
    await hooks.add(receiver.url("/ends"), "job.cancelled", "job.failed")
    await hooks.add(receiver.url("/all"))
    job = await hooks.submit()
    await hooks.cancel(job)
    async with hooks.sending():
        await receiver.until_messages(3)
    sent = sorted((message.path, json.loads(message.body)["type"]) for message in receiver.messages)
    assert sent == [("/all", "job.accepted"), ("/all", "job.cancelled"), ("/ends", "job.cancelled")]
    assert {json.loads(message.body)["data"]["job"]["id"] for message in receiver.messages} == {job["id"]}


async def test_another_teams_events_are_not_sent(hooks: Hooks, receiver: Receiver, api: Any) -> None:
    await hooks.add(receiver.url())
    await api.make_team("cv")
    stranger = Hooks(await api.member("cv", "manager"), hooks.settings, hooks.sessions)
    task = {"replicas": 1, "image": "registry.test/llm:1", "resources": {"gpus": 0}}
    answer = await stranger.client.post("/v1/teams/cv/jobs", json={"name": "theirs", "tasks": [task]})
    assert answer.status_code == 201
    async with hooks.sending():
        job = await hooks.submit("ours")
        await receiver.until_messages(1)
    assert [json.loads(message.body)["data"]["job"]["id"] for message in receiver.messages] == [job["id"]]


async def test_messages_come_one_after_the_other_in_the_order_of_the_events(hooks: Hooks, receiver: Receiver) -> None:
    await hooks.add(receiver.url())
    jobs = [await hooks.submit() for _ in range(20)]
    for job in jobs:
        await hooks.cancel(job)
    async with hooks.sending():
        await receiver.until_messages(40)
    events = [json.loads(message.body)["data"]["event"] for message in receiver.messages]
    assert [event["id"] for event in events] == sorted({event["id"] for event in events})
    assert [event["job_id"] for event in events] == [job["id"] for job in jobs] * 2
    assert receiver.most_at_once == 1


@pytest.mark.parametrize("answer", [500, 404, 301, 429, hang_up])
async def test_what_fails_is_tried_again_with_the_same_id(hooks: Hooks, receiver: Receiver, answer: Any) -> None:
    receiver.script = [answer, answer]
    hook = await hooks.add(receiver.url(), "job.accepted")
    before = metric("failed")
    await hooks.submit()
    async with hooks.sending():
        await receiver.until_messages(2)
        await hooks.let_pauses_pass(hook)
        (delivery,) = await hooks.until_deliveries(hook, "delivered")
    assert len(receiver.messages) == 3
    assert set(receiver.ids) == {delivery["message_id"]}
    for message in receiver.messages:
        message.verified(hook["secret"])
    assert (delivery["attempts"], delivery["last_status"], delivery["last_error"]) == (3, 204, None)
    assert (await hooks.read(hook))["failing_since"] is None
    assert metric("failed") == before + 2


async def test_a_message_that_fails_does_not_hold_up_those_behind_it(hooks: Hooks, receiver: Receiver) -> None:
    receiver.script = [500]
    await hooks.add(receiver.url(), "job.accepted")
    first, second = await hooks.submit(), await hooks.submit()
    async with hooks.sending(webhook_retry_seconds=[3600.0]):
        await receiver.until_messages(2)
    sent = [json.loads(message.body)["data"]["job"]["id"] for message in receiver.messages]
    assert sent == [first["id"], second["id"]]


async def test_a_redirect_is_not_followed(hooks: Hooks, receiver: Receiver) -> None:
    async with receiving() as other:
        receiver.usual = web.Response(status=307, headers={"Location": other.url()})
        hook = await hooks.add(receiver.url(), "job.accepted")
        await hooks.submit()
        async with hooks.sending(webhook_retry_seconds=[]):
            (delivery,) = await hooks.until_deliveries(hook, "dead")
        assert (delivery["last_status"], other.messages) == (307, [])
        assert "redirect" in delivery["last_error"]


async def test_a_receiver_that_does_not_answer_in_time_has_failed(hooks: Hooks, receiver: Receiver) -> None:
    receiver.script = [hang]
    hook = await hooks.add(receiver.url(), "job.accepted")
    await hooks.submit()
    async with hooks.sending(webhook_timeout_seconds=0.2, webhook_retry_seconds=[]):
        (delivery,) = await hooks.until_deliveries(hook, "dead")
    assert delivery["last_status"] is None
    assert delivery["last_error"] == "No answer came within 0.2 s."


async def test_an_answer_without_end_is_not_read_to_its_end(hooks: Hooks, receiver: Receiver) -> None:
    receiver.usual = answer_without_end
    hook = await hooks.add(receiver.url(), "job.accepted")
    for _ in range(2):
        await hooks.submit()
    async with hooks.sending():
        delivered = await hooks.until_deliveries(hook, "delivered", 2)
    assert [delivery["last_status"] for delivery in delivered] == [200, 200]


async def test_a_slow_endpoint_does_not_hold_up_another(hooks: Hooks, receiver: Receiver) -> None:
    async with receiving(usual=hang) as slow:
        await hooks.add(slow.url(), "job.accepted")
        await hooks.add(receiver.url(), "job.accepted")
        async with hooks.sending(webhook_concurrency=2):
            await hooks.submit()
            await slow.until_messages(1)
            for _ in range(5):
                await hooks.submit()
            await receiver.until_messages(6)
            assert len(slow.messages) == 1


async def test_more_endpoints_than_may_be_sent_to_at_once_all_get_their_turn(hooks: Hooks, receiver: Receiver) -> None:
    for place in range(5):
        await hooks.add(receiver.url(f"/{place}"), "job.accepted")
    for _ in range(3):
        await hooks.submit()
    async with hooks.sending(webhook_concurrency=2):
        await receiver.until_messages(15)
    assert sorted({message.path for message in receiver.messages}) == ["/0", "/1", "/2", "/3", "/4"]
    assert receiver.most_at_once <= 2


async def test_a_message_is_given_up_after_its_last_attempt_and_can_be_sent_again(
    hooks: Hooks, receiver: Receiver
) -> None:
    receiver.usual = 500
    hook = await hooks.add(receiver.url(), "job.accepted")
    before = metric("dead")
    await hooks.submit()
    async with hooks.sending():
        await receiver.until_messages(2)  # from the second failure on there are pauses
        for attempt in (3, 4, 5):
            await hooks.let_pauses_pass(hook)
            await receiver.until_messages(attempt)
        (dead,) = await hooks.until_deliveries(hook, "dead")
        assert (dead["attempts"], dead["last_status"], dead["next_at"]) == (5, 500, None)
        assert dead["last_error"] == "It answered 500, which is not a success."
        assert metric("dead") == before + 1
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


async def test_retry_after_pauses_the_endpoint(hooks: Hooks, receiver: Receiver) -> None:
    receiver.script = [web.Response(status=429, headers={"Retry-After": "3600"})]
    hook = await hooks.add(receiver.url(), "job.accepted")
    await hooks.submit()
    async with hooks.sending():
        await receiver.until_messages(1)
        await hooks.submit()

        async def paused() -> Any:
            return (await hooks.read(hook))["paused_until"]

        await hooks.until(paused)
        (pending,) = await hooks.deliveries(hook, "pending")
        assert pending["next_at"] >= (await hooks.read(hook))["paused_until"]
        async with receiving() as other:  # whose message shows that the dispatcher has looked again
            await hooks.add(other.url(), "job.accepted")
            await hooks.submit()
            await other.until_messages(1)
        assert len(receiver.messages) == 1
        await hooks.let_pauses_pass(hook)
        await receiver.until_messages(4)


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


async def test_a_ping(hooks: Hooks, receiver: Receiver) -> None:
    hook = await hooks.add(receiver.url(), "job.failed")
    made = await hooks.call("POST", hook, "/test")
    assert (made["type"], made["state"], made["event_id"]) == ("ping", "pending", None)
    async with hooks.sending():
        (message,) = await receiver.until_messages(1)
        await hooks.until_deliveries(hook, "delivered")
    assert message.verified(hook["secret"]) == {
        "type": "ping",
        "timestamp": made["created_at"],
        "data": {"webhook": hook["id"]},
    }
    assert message.id == made["message_id"]
    found = await hooks.call("GET", hook, f"/deliveries/{made['id']}")
    assert (found["state"], found["last_status"]) == ("delivered", 204)


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
