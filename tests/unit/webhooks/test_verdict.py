from datetime import UTC, datetime

import pytest

from app.settings import Settings
from app.webhooks.verdict import DeliveryState, DisabledReason, Outcome, Past, Rules, Verdict, judge, retry_after

RULES = Rules(schedule=[5.0, 300.0, 1800.0], disable_seconds=1000.0)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_success_is_delivered(status: int) -> None:
    assert judge(Outcome(status), Past(2, 9, 5000), RULES, luck=0.5) == Verdict(DeliveryState.DELIVERED)


@pytest.mark.parametrize(("attempts", "delay"), [(0, 5.0), (1, 300.0), (2, 1800.0)])
@pytest.mark.parametrize("status", [None, 100, 301, 307, 400, 404, 429, 500, 502, 503, 504])
def test_anything_else_is_tried_again_by_the_schedule(status: int | None, attempts: int, delay: float) -> None:
    verdict = judge(Outcome(status), Past(attempts), RULES, luck=0.5)
    assert verdict == Verdict(DeliveryState.PENDING, delay)


@pytest.mark.parametrize(("luck", "delay"), [(0.0, 240.0), (0.25, 270.0), (1.0, 360.0)])
def test_a_delay_is_spread_by_a_fifth(luck: float, delay: float) -> None:
    assert judge(Outcome(500), Past(1), RULES, luck=luck).delay_seconds == pytest.approx(delay)


def test_the_last_attempt_of_the_schedule_ends_it() -> None:
    assert judge(Outcome(500), Past(3), RULES, luck=0.5).state is DeliveryState.DEAD
    assert judge(Outcome(500), Past(0), Rules([], 1000.0), luck=0.5).state is DeliveryState.DEAD


def test_the_schedule_of_the_settings_makes_eight_attempts_within_28_hours() -> None:
    rules = Rules(Settings(_env_file=None).webhook_retry_seconds, 1e9)
    waited, attempts = 0.0, 1
    while (verdict := judge(Outcome(503), Past(attempts - 1), rules, luck=0.5)).delay_seconds is not None:
        waited += verdict.delay_seconds
        attempts += 1
    assert attempts == 8
    assert 27 * 3600 < waited < 28 * 3600


def test_gone_ends_the_message_and_turns_the_endpoint_off() -> None:
    verdict = judge(Outcome(410), Past(), RULES, luck=0.5)
    assert verdict == Verdict(DeliveryState.DEAD, disable=DisabledReason.GONE)


@pytest.mark.parametrize(
    ("failures", "pause"), [(0, 0.0), (1, 1.0), (2, 2.0), (3, 4.0), (6, 32.0), (7, 60.0), (100_000, 60.0)]
)
def test_an_endpoint_that_fails_again_and_again_is_left_alone_ever_longer(failures: int, pause: float) -> None:
    assert judge(Outcome(500), Past(failures=failures), RULES, luck=0.5).pause_seconds == pause


def test_retry_after_is_waited_for_by_the_message_and_the_endpoint() -> None:
    longer = judge(Outcome(429, retry_after_seconds=60.0), Past(), RULES, luck=0.5)
    assert (longer.delay_seconds, longer.pause_seconds) == (60.0, 60.0)
    shorter = judge(Outcome(503, retry_after_seconds=2.0), Past(attempts=1), RULES, luck=0.5)
    assert (shorter.delay_seconds, shorter.pause_seconds) == (300.0, 2.0)


def test_an_endpoint_that_fails_for_long_is_turned_off() -> None:
    assert judge(Outcome(500), Past(failing_seconds=999.9), RULES, luck=0.5).disable is None
    assert judge(Outcome(500), Past(failing_seconds=1000.0), RULES, luck=0.5).disable is DisabledReason.FAILING


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("9" * 400, 86_400.0),
        ("١٢", None),
        ("Sun, 01 Mar 2026 12:01:00 GMT", 60.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2099 11:00:00 GMT", 86_400.0),
        ("Sun, 99 Mar 2026 11:00:00 GMT", None),
        ("Sun, 01 Mar 99999999999 11:00:00 GMT", None),
    ],
)
def test_retry_after_in_every_form(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds
