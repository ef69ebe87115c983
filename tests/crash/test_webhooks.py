"""Webhooks while controllers come and go."""

import json
from typing import Any

from app.auth.principal import Principal, Role
from app.webhooks import service
from app.webhooks.schemas import WebhookCreate
from tests.api.webhooks.receiver import Receiver, hang, receiving

ENDS = ["job.succeeded", "job.failed"]


async def add(world: Any, receiver: Receiver, *events: str) -> str:
    world.settings = world.settings.model_copy(
        update={"webhook_allow": ["127.0.0.1"], "webhook_allow_http": True, "webhook_retry_seconds": [0.0] * 9}
    )
    wanted = WebhookCreate(url=receiver.url(), events=list(events))
    caller = Principal("u-nlp", Role.MANAGER, world.team)
    _, secret = await service.create_webhook(world.sessions, world.settings, caller, world.team, wanted)
    return secret


async def test_the_leader_sends_how_a_job_ended(world: Any) -> None:
    async with receiving() as receiver:
        await world.make_team()
        secret = await add(world, receiver, *ENDS)
        job_id = await world.submit()
        world.start()
        (message,) = await receiver.until_messages(1)
        sent = message.verified(secret)
        await world.stop()
    assert (sent["type"], sent["data"]["job"]["id"]) == ("job.succeeded", str(job_id))
    assert (sent["data"]["event"]["state"], sent["data"]["job"]["state"]) == ("succeeded", "succeeded")


async def test_a_controller_that_stops_while_a_message_is_under_way_leaves_it_to_the_next(world: Any) -> None:
    async with receiving(usual=hang) as receiver:
        await world.make_team()
        secret = await add(world, receiver)
        job_id = await world.submit()
        world.start()
        await receiver.until_messages(1)
        await world.until_state(job_id, "succeeded")
        await world.stop()
        receiver.usual = 204
        world.start()
        await receiver.until(lambda: b'"job.succeeded"' in receiver.messages[-1].body)
        await world.stop()
    assert receiver.ids[0] == receiver.ids[1]
    sent = [message.verified(secret)["data"]["event"]["id"] for message in receiver.messages[1:]]
    assert sent == sorted(set(sent))
    assert len(sent) == len(await world.events(job_id))


async def test_a_receiver_that_never_answers_does_not_hold_up_jobs(world: Any) -> None:
    async with receiving(usual=hang) as receiver:
        await world.make_team()
        await add(world, receiver)
        world.start()
        first = await world.submit("first")
        await receiver.until_messages(1)
        second = await world.submit("second")
        for job_id in (first, second):
            await world.until_state(job_id, "succeeded")
        assert [json.loads(message.body)["type"] for message in receiver.messages] == ["job.accepted"]
        await world.stop()
