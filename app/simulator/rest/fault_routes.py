"""The fault switchboard over HTTP, for tests that run the cluster in another process.

`GET /simulator/faults` lists, `POST` adds one (the fields of `Fault`), `DELETE` clears all, `DELETE .../<identifier>`
one. `POST /simulator/watches/<count|cut|abort|stall|release|expire|line>` acts on the open watches
(`{"plural": "jobs"}`; `line` also takes `{"value": ...}`). These do what their names say, all by POST:
`/simulator/history/compact`, `/simulator/continues/expire`, `/simulator/away` (`{"seconds": 2}`), `/simulator/vanish`
(`{"plural", "group", "namespace", "name"}`), `/simulator/tokens/expire` (all, or those of `{"namespace", "name"}`),
`/simulator/nodes/<name>/<lose|restore>` (`{"evict_after_seconds": 300}`). `POST /simulator/logs/<count|cut|abort>` acts
on the open answers of `pods/<name>/log`, and `/simulator/logs/write` has a container print (`{"namespace", "name"}`, if
need be `"container"`, and `"text"` or `"base64"`).
"""

import asyncio
from base64 import b64decode
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from aiohttp import web

from app.simulator.faults import EFFECTS, EVICTION_SECONDS, Fault, Faults
from app.simulator.history import encode
from app.simulator.kinds import KINDS
from app.simulator.objects import ApiError, Object
from app.simulator.refusals import bad_request
from app.simulator.rest.bodies import read_value
from app.simulator.rest.pod_logs import PodLogs
from app.simulator.rest.resources import json_answer

PREFIX = "/simulator/"
_LONGEST_AWAY_SECONDS = 600
_returning: set[asyncio.Task[None]] = set()


async def fault_answer(request: web.Request, faults: Faults) -> web.Response:
    """Carry out one request to the switchboard.

    Raises:
        ApiError: 400, 404.
    """
    parts = request.path.removeprefix(PREFIX).strip("/").split("/")
    body = await read_value(request) or {}
    if not isinstance(body, dict):
        raise bad_request("the body is not a JSON object")
    match request.method, parts:
        case "GET", ["faults"]:
            return json_answer(encode({"faults": faults.active()}))
        case "POST", ["faults"]:
            added = faults.add(parse_fault(body))
            return json_answer(encode({"identifier": added.identifier}), 201)
        case "DELETE", ["faults"]:
            faults.clear()
        case "DELETE", ["faults", identifier] if identifier.isdecimal():
            faults.clear(int(identifier))
        case "POST", ["nodes", name, ("lose" | "restore") as action]:
            await _on_node(faults, name, action, body)
        case "POST", ["logs", action]:
            return json_answer(encode({"logs": _on_logs(faults.logs, action, body)}))
        case "POST", ["watches", action]:
            return json_answer(encode({"watches": _on_watches(faults, action, body)}))
        case "POST", _:
            _act(faults, "/".join(parts), body)
        case _:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
    return json_answer(encode({"done": True}))


def parse_fault(body: Object) -> Fault:
    """A fault of its JSON form.

    Raises:
        ApiError: 400 for an unknown field, a wrong type or an unknown effect.
    """
    hints = get_type_hints(Fault)
    names = {item.name for item in fields(Fault)} - {"identifier"}
    for name, value in body.items():
        if name not in names:
            raise bad_request(f"a fault has no field {name!r}")
        if name != "effect" and not isinstance(value, (get_args(hints[name]) or (hints[name],))):
            raise bad_request(f"the field {name!r} of a fault has the wrong type")
    if body.get("effect") not in EFFECTS:
        raise bad_request(f"the effect of a fault is one of {', '.join(EFFECTS)}")
    return Fault(**body)


def _on_watches(faults: Faults, action: str, body: Object) -> int:
    plural = body.get("plural")
    actions: dict[str, Callable[[], int]] = {
        "count": lambda: faults.open_watches(plural),
        "cut": lambda: faults.cut_watches(plural),
        "abort": lambda: faults.cut_watches(plural, abrupt=True),
        "stall": lambda: faults.stall_watches(plural),
        "release": lambda: faults.stall_watches(plural, stalled=False),
        "expire": lambda: faults.expire_watches(plural),
        "line": lambda: faults.send_line(_line(body), plural),
    }
    if action not in actions:
        raise ApiError(404, "NotFound", "the server could not find the requested resource")
    return actions[action]()


def _on_logs(logs: PodLogs, action: str, body: Object) -> int:
    actions: dict[str, Callable[[], int]] = {
        "count": lambda: len(logs.open),
        "cut": logs.cut,
        "abort": lambda: logs.cut(abrupt=True),
        "write": lambda: _write(logs, body),
    }
    if action not in actions:
        raise ApiError(404, "NotFound", "the server could not find the requested resource")
    return actions[action]()


def _write(logs: PodLogs, body: Object) -> int:
    namespace, name = (_optional_text(body, field) or "" for field in ("namespace", "name"))
    encoded = _optional_text(body, "base64")
    try:
        data = (_optional_text(body, "text") or "").encode() if encoded is None else b64decode(encoded, validate=True)
    except ValueError as error:
        raise bad_request("base64 is not base64") from error
    logs.write(namespace, name, data, _optional_text(body, "container"))
    return len(data)


async def _on_node(faults: Faults, name: str, action: str, body: Object) -> None:
    seconds = body.get("evict_after_seconds", EVICTION_SECONDS)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
        raise bad_request("evict_after_seconds is a number of zero or more")
    if action == "lose":
        await faults.lose_node(name, float(seconds))
    else:
        await faults.restore_node(name)


def _line(body: Object) -> bytes:
    value: Any = body.get("value")
    return value.encode() if isinstance(value, str) else encode(value)


def _act(faults: Faults, action: str, body: Object) -> None:
    match action:
        case "history/compact":
            faults.compact()
        case "continues/expire":
            faults.expire_continues()
        case "tokens/expire":
            faults.expire_tokens(_optional_text(body, "namespace"), _optional_text(body, "name"))
        case "vanish":
            _vanish(faults, body)
        case "away":
            _go_away(faults, body)
        case _:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")


def _optional_text(body: Object, field: str) -> str | None:
    value = body.get(field)
    if value is not None and not isinstance(value, str):
        raise bad_request(f"{field} is a text")
    return value


def _vanish(faults: Faults, body: Object) -> None:
    for kind in KINDS:
        if kind.plural == body.get("plural") and kind.group == body.get("group", kind.group):
            faults.vanish(kind, body.get("namespace"), str(body.get("name")))
            return
    raise bad_request("there is no such kind")


def _go_away(faults: Faults, body: Object) -> None:
    seconds = body.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _LONGEST_AWAY_SECONDS:
        raise bad_request(f"seconds is a number above 0 and at most {_LONGEST_AWAY_SECONDS}")

    async def leave() -> None:
        await asyncio.sleep(0.05)  # this request is still to be answered
        await faults.away(float(seconds))

    task = asyncio.get_running_loop().create_task(leave())
    _returning.add(task)
    task.add_done_callback(_returning.discard)
