import json
from typing import Any

import pytest
from aiohttp import web

from app.webhooks import serving
from app.webhooks.payload import event_body
from tests.api.webhooks.conftest import Hooks
from tests.api.webhooks.receiver import Receiver, answer_without_end, hang, hang_up, receiving


async def test_an_event_is_sent_signed_with_its_job(hooks: Hooks, receiver: Receiver) -> None:
    hook = await hooks.add(receiver.url("/hook?team=nlp"), "job.accepted")
    before = hooks.metric("delivered")
    async with hooks.sending():
        job = await hooks.submit("score")
        (message,) = await receiver.until_messages(1)
        (delivery,) = await hooks.until_deliveries(hook, "delivered")
        await hooks.until_metric("delivered", before + 1)
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
    before = hooks.metric("failed")
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
    assert hooks.metric("failed") == before + 2


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


async def test_a_message_that_cannot_be_made_does_not_hold_up_those_behind_it(
    hooks: Hooks, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(kind: str, event: Any, job: Any) -> str:
        if job["name"] == "odd":
            raise KeyError("a mistake of ours")
        return event_body(kind, event, job)

    monkeypatch.setattr(serving, "event_body", make)
    hook = await hooks.add(receiver.url(), "job.accepted")
    await hooks.submit("odd")
    await hooks.submit("even")
    async with hooks.sending(webhook_retry_seconds=[]):
        await receiver.until_messages(1)
        (dead,) = await hooks.until_deliveries(hook, "dead")
    assert json.loads(receiver.messages[0].body)["data"]["job"]["name"] == "even"
    assert dead["last_error"] == "The message could not be made; the log of the controller says why."
