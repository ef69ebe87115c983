"""How a simulated pod lives: read from the command of its first container and from annotations. Pure.

`sleep 30` runs thirty seconds, `exit 3` ends with code 3, `sh -c "sleep 5; exit 1"` does both. In a script any
statement that is neither of these, nor one of the quick ones below, takes three seconds and succeeds; so does any other
command.

Annotations, prefix `simulator.pumice.dev/`, say what a command cannot and go before it:
`run-seconds`, `exit-code`, `start-seconds` (from the binding to the start), `oom` (killed for memory after so many
seconds), `image-pull` (`ErrImagePull` or `ImagePullBackOff`: the container stays waiting), `ignore-sigterm`
(`"true"`: it holds its whole grace period), `progress-steps` (it counts so many steps, evenly over its run, in its own
annotation `pumice.dev/progress`; a container that fails does not get to its last step).
"""

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.simulator.objects import Object

PREFIX = "simulator.pumice.dev/"
DEFAULT_RUN_SECONDS = 3.0
DEFAULT_START_SECONDS = 0.5
KILLED_EXIT_CODE = 137
_SHELLS = frozenset({"sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash", "ash", "dash"})
_QUICK = frozenset({"echo", "true", ":", "cd", "set", "export", "date", "hostname"})
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"^(\d+(?:\.\d+)?|\.\d+)([smhd]?)$")
_EXIT_CODES = 256
_MOST_STEPS = 1_000


@dataclass(frozen=True, slots=True)
class Life:
    """What a container does. `run_seconds` may be infinite; `waits_for` is why it never starts, or None."""

    run_seconds: float = DEFAULT_RUN_SECONDS
    exit_code: int = 0
    start_seconds: float = DEFAULT_START_SECONDS
    out_of_memory: bool = False
    waits_for: str | None = None
    ignores_sigterm: bool = False
    progress_steps: int = 0

    @property
    def reason(self) -> str:
        """The reason of the terminated state, as a kubelet words it."""
        if self.out_of_memory:
            return "OOMKilled"
        return "Error" if self.exit_code else "Completed"


def life_of(pod: Object) -> Life:
    """The life of a pod."""
    containers = pod["spec"].get("containers") or [{}]
    argv = [str(part) for part in (*(containers[0].get("command") or ()), *(containers[0].get("args") or ()))]
    return _annotated(_of_command(argv), pod["metadata"].get("annotations") or {})


def _of_command(argv: list[str]) -> Life:
    if len(argv) > 1 and argv[0] in _SHELLS:
        for index, part in enumerate(argv[1:-1], start=1):
            if part.startswith("-") and part.endswith("c"):
                return _of_script(argv[index + 1])
    if argv and argv[0].rpartition("/")[2] in ("sleep", "exit", "false"):
        return _of_statements([argv])
    return _of_script(argv[0]) if len(argv) == 1 and " " in argv[0] else Life()


def _of_script(script: str) -> Life:
    lexer = shlex.shlex(script.replace("\n", " ; "), posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return Life()
    statements: list[list[str]] = [[]]
    for word in words:
        if word in (";", "&&", "||"):
            statements.append([word])
        else:
            statements[-1].append(word)
    return _of_statements([statement for statement in statements if statement])


def _of_statements(statements: list[list[str]]) -> Life:
    seconds, code = 0.0, 0
    for statement in statements:
        joiner, words = (statement[0], statement[1:]) if statement[0] in (";", "&&", "||") else (";", statement)
        skipped = (joiner == "&&" and code != 0) or (joiner == "||" and code == 0)
        if skipped or not words:
            continue
        name = words[0].rpartition("/")[2]
        if name == "exit":
            return Life(run_seconds=seconds, exit_code=_exit_code(words[1:], code))
        taken, code = _run(name, words[1:])
        seconds += taken
    return Life(run_seconds=seconds, exit_code=code)


def _run(name: str, arguments: list[str]) -> tuple[float, int]:
    """Seconds and exit code of one statement."""
    if name == "sleep":
        durations = [_duration(argument) for argument in arguments]
        wrong = not durations or any(duration is None for duration in durations)
        return (0.0, 1) if wrong else (sum(duration or 0.0 for duration in durations), 0)
    if name == "false":
        return 0.0, 1
    return (0.0, 0) if name in _QUICK else (DEFAULT_RUN_SECONDS, 0)


def _duration(text: str) -> float | None:
    if text in ("infinity", "inf"):
        return math.inf
    found = _DURATION.match(text)
    return float(found[1]) * _UNITS[found[2]] if found else None


def _exit_code(arguments: list[str], last: int) -> int:
    if not arguments:
        return last
    text = arguments[0]
    return int(text) % _EXIT_CODES if text.isascii() and text.isdigit() else 2


def _annotated(life: Life, annotations: Mapping[str, str]) -> Life:
    run_seconds = _seconds(annotations, "run-seconds", life.run_seconds)
    start_seconds = _seconds(annotations, "start-seconds", life.start_seconds)
    code = annotations.get(PREFIX + "exit-code", "")
    life = replace(
        life,
        run_seconds=run_seconds,
        start_seconds=start_seconds,
        exit_code=_exit_code([code], 0) if code else life.exit_code,
        waits_for=annotations.get(PREFIX + "image-pull"),
        ignores_sigterm=annotations.get(PREFIX + "ignore-sigterm") == "true",
        progress_steps=_steps(annotations.get(PREFIX + "progress-steps", "")),
    )
    if PREFIX + "oom" in annotations:
        after = _seconds(annotations, "oom", life.run_seconds)
        return replace(life, run_seconds=after, exit_code=KILLED_EXIT_CODE, out_of_memory=True)
    return life


def _steps(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(_MOST_STEPS)) else 0
    return min(number, _MOST_STEPS)


def _seconds(annotations: Mapping[str, str], name: str, otherwise: float) -> float:
    duration = _duration(annotations.get(PREFIX + name, ""))
    return otherwise if duration is None else duration
