from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cluster.errors import (
    ClusterError,
    ClusterThrottled,
    ClusterUnavailable,
    Expired,
    Garbled,
    NotFound,
    Rejected,
    Unauthorized,
)
from app.cluster.informer_step import (
    LAST_BACKOFF_SECONDS,
    Apply,
    Effect,
    Ended,
    Event,
    Failed,
    Listed,
    Opened,
    Phase,
    Remove,
    Skip,
    State,
    Streamed,
    Wait,
    step,
)

EMPTY, LISTED, WATCHING = Phase.EMPTY, Phase.LISTED, Phase.WATCHING
AWAY = ClusterUnavailable("away")


def obj(version: Any = "12", name: str = "a") -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": version}}


def error_event(code: Any, reason: str = "") -> Streamed:
    return Streamed("ERROR", {"kind": "Status", "code": code, "reason": reason})


@pytest.mark.parametrize(
    ("before", "event", "after", "effects"),
    [
        pytest.param(State(), Listed("9"), State(LISTED, "9"), (), id="listed"),
        pytest.param(
            State(), Listed(""), State(EMPTY, "", 1), (Skip("no_version"), Wait(0, 0.5)), id="list-no-version"
        ),
        pytest.param(State(EMPTY, "", 3), Listed("9"), State(LISTED, "9", 3), (), id="list-alone-is-no-success"),
        pytest.param(State(LISTED, "9"), Opened(), State(WATCHING, "9"), (), id="opened"),
        pytest.param(
            State(WATCHING, "9", 2),
            Streamed("ADDED", obj()),
            State(WATCHING, "12", 2, fruitful=True),
            (Apply(obj()),),
            id="added",
        ),
        pytest.param(
            State(WATCHING, "9"),
            Streamed("MODIFIED", obj()),
            State(WATCHING, "12", 0, fruitful=True),
            (Apply(obj()),),
            id="modified",
        ),
        pytest.param(
            State(WATCHING, "9"),
            Streamed("DELETED", obj()),
            State(WATCHING, "12", 0, fruitful=True),
            (Remove(obj()),),
            id="deleted",
        ),
        pytest.param(
            State(WATCHING, "12"),
            Streamed("MODIFIED", obj()),
            State(WATCHING, "12", 0, fruitful=True),
            (Apply(obj()),),
            id="again",
        ),
        pytest.param(
            State(WATCHING, "9"),
            Streamed("BOOKMARK", obj()),
            State(WATCHING, "12", 0, fruitful=True),
            (),
            id="bookmark",
        ),
        pytest.param(
            State(WATCHING, "9"), Streamed("FOO", obj()), State(WATCHING, "9"), (Skip("unknown_type"),), id="foo"
        ),
        pytest.param(
            State(WATCHING, "9"), Streamed("", {}), State(WATCHING, "9"), (Skip("unknown_type"),), id="nothing"
        ),
        pytest.param(
            State(WATCHING, "9"),
            Streamed("ADDED", {}),
            State(WATCHING, "9"),
            (Skip("strange_object"),),
            id="no-metadata",
        ),
        pytest.param(
            State(WATCHING, "9"),
            Streamed("ADDED", {"metadata": None}),
            State(WATCHING, "9"),
            (Skip("strange_object"),),
            id="null-metadata",
        ),
        pytest.param(
            State(WATCHING, "9"),
            Streamed("BOOKMARK", obj(7)),
            State(WATCHING, "9"),
            (Skip("strange_object"),),
            id="int-rv",
        ),
        pytest.param(
            State(WATCHING, "100"),
            Streamed("MODIFIED", obj("99")),
            State(EMPTY, "", 1),
            (Skip("out_of_order"), Wait(0, 0.5)),
            id="older-than-what-was-seen",
        ),
        pytest.param(
            State(WATCHING, "abc"),
            Streamed("ADDED", obj("aba")),
            State(WATCHING, "aba", 0, fruitful=True),
            (Apply(obj("aba")),),
            id="opaque",
        ),
        pytest.param(State(WATCHING, "9"), Ended(290), State(LISTED, "9"), (), id="quiet-end"),
        pytest.param(
            State(WATCHING, "9", 3, fruitful=True), Ended(0.1), State(LISTED, "9"), (), id="short-fruitful-end"
        ),
        pytest.param(State(WATCHING, "9", 1), Ended(0.1), State(LISTED, "9", 2), (Wait(0, 1.0),), id="short-empty-end"),
        pytest.param(State(WATCHING, "9"), Failed(AWAY, 1), State(LISTED, "9", 1), (Wait(0, 0.5),), id="broken"),
        pytest.param(
            State(WATCHING, "9", 4), Failed(AWAY, 1), State(LISTED, "9", 5), (Wait(0, 8.0),), id="broken-again"
        ),
        pytest.param(
            State(WATCHING, "9", 4), Failed(AWAY, 60), State(LISTED, "9", 1), (Wait(0, 0.5),), id="broken-steady"
        ),
        pytest.param(
            State(WATCHING, "9", 4, fruitful=True),
            Failed(AWAY, 1),
            State(LISTED, "9", 1),
            (Wait(0, 0.5),),
            id="broken-fruitful",
        ),
        pytest.param(State(LISTED, "9"), Failed(AWAY), State(LISTED, "9", 1), (Wait(0, 0.5),), id="watch-refused"),
        pytest.param(State(), Failed(AWAY), State(EMPTY, "", 1), (Wait(0, 0.5),), id="list-refused"),
        pytest.param(
            State(EMPTY, "", 400), Failed(AWAY), State(EMPTY, "", 401), (Wait(0, 30.0),), id="backoff-ends-at-30"
        ),
        pytest.param(
            State(LISTED, "9"),
            Failed(ClusterThrottled("wait", retry_after_seconds=3.0)),
            State(LISTED, "9", 1),
            (Wait(3.0, 0.5),),
            id="throttled",
        ),
        pytest.param(State(LISTED, "9"), Failed(Unauthorized("no")), State(LISTED, "9", 1), (Wait(0, 0.5),), id="401"),
        pytest.param(State(LISTED, "9"), Failed(NotFound("no")), State(EMPTY, "", 1), (Wait(0, 0.5),), id="404"),
        pytest.param(State(LISTED, "9"), Failed(Rejected("no")), State(EMPTY, "", 1), (Wait(0, 0.5),), id="400"),
        pytest.param(
            State(WATCHING, "9", 3, fruitful=True),
            Failed(Garbled("no"), 1),
            State(EMPTY, "", 4),
            (Wait(0, 4.0),),
            id="garbled-line",
        ),
        pytest.param(State(LISTED, "9"), Failed(Expired("old")), State(EMPTY, "", 1), (), id="410-status"),
        pytest.param(State(WATCHING, "9"), error_event(410), State(EMPTY, "", 1), (), id="410-event"),
        pytest.param(
            State(WATCHING, "9"), error_event(None, "Expired"), State(EMPTY, "", 1), (), id="expired-by-reason"
        ),
        pytest.param(State(EMPTY), Failed(Expired("old")), State(EMPTY, "", 1), (), id="410-continue-token"),
        pytest.param(State(EMPTY, "", 1), Failed(Expired("old")), State(EMPTY, "", 2), (Wait(0, 1.0),), id="410-again"),
        pytest.param(
            State(WATCHING, "9", 1, fruitful=True),
            error_event(410),
            State(EMPTY, "", 2),
            (Wait(0, 1.0),),
            id="410-after-one-event",
        ),
        pytest.param(
            State(WATCHING, "9", 7),
            Streamed("ERROR", {"code": 410}, lasted_seconds=60),
            State(EMPTY, "", 1),
            (),
            id="410-after-a-steady-watch",
        ),
        pytest.param(State(WATCHING, "9"), error_event(500), State(LISTED, "9", 1), (Wait(0, 0.5),), id="500-event"),
        pytest.param(
            State(WATCHING, "9"), Streamed("ERROR", {}), State(LISTED, "9", 1), (Wait(0, 0.5),), id="empty-error"
        ),
    ],
)
def test_step(before: State, event: Event, after: State, effects: tuple[Effect, ...]) -> None:
    assert step(before, event) == (after, effects)


errors = st.sampled_from(
    [AWAY, Expired("x"), Garbled("x"), NotFound("x"), Rejected("x"), Unauthorized("x"), ClusterError("x")]
)
versions = st.one_of(st.just(""), st.integers(0, 10**12).map(str), st.text(max_size=5))
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(Listed, versions),
    st.builds(Opened),
    st.builds(Ended, st.floats(0, 400)),
    st.builds(Failed, errors, st.floats(0, 400)),
    st.builds(
        Streamed,
        st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "FOO", ""]),
        st.one_of(st.builds(obj, versions), st.dictionaries(st.text(max_size=3), st.none(), max_size=2)),
        st.floats(0, 400),
    ),
)


@settings(deadline=None)
@given(st.lists(events, max_size=60))
def test_whatever_happens_the_machine_goes_on(happened: list[Event]) -> None:
    possible = {EMPTY: (Listed, Failed), LISTED: (Opened, Failed), WATCHING: (Streamed, Ended, Failed)}
    state = State()
    for event in happened:
        if not isinstance(event, possible[state.phase]):
            continue
        state, effects = step(state, event)
        assert (state.phase is EMPTY) == (not state.version)
        for effect in effects:
            assert not isinstance(effect, Wait) or 0 < effect.up_to <= LAST_BACKOFF_SECONDS
