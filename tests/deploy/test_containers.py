"""The image and the compose file, checked as far as that goes without an engine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import Command
from typer.main import get_command

from app.cli import app as commands
from app.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"


@pytest.fixture
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def _ours(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: service for name, service in compose["services"].items() if service["image"] == "pumice"}


def test_the_compose_file_has_the_parts_and_the_simulated_cluster_as_a_profile(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"postgres", "migrate", "api", "controller", "cluster"}
    assert compose["services"]["postgres"]["image"] == "postgres:18"
    assert [name for name, service in compose["services"].items() if "profiles" in service] == ["cluster"]


def test_every_command_line_is_one_that_pumice_takes(compose: dict[str, Any]) -> None:
    group = get_command(commands)
    for service in _ours(compose).values():
        name, *arguments = service["command"]
        command: Command = group.commands[name]  # type: ignore[attr-defined]
        command.make_context(name, list(arguments))


def test_every_variable_is_a_setting(compose: dict[str, Any]) -> None:
    known = {f"PUMICE_{name.upper()}" for name in Settings.model_fields}
    for service in _ours(compose).values():
        assert set(service["environment"]) <= known


def _succeeds(words: list[str]) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _compose_binary() -> list[str] | None:
    for candidate in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(candidate[0]) and _succeeds([*candidate, "version"]):
            return candidate
    return None


@pytest.mark.parametrize("profile", ["", "simulated"])
def test_docker_compose_takes_the_file(profile: str) -> None:
    binary = _compose_binary()
    if binary is None:
        pytest.skip("docker compose is not on this machine")
    environment = {**os.environ, "PUMICE_ADMIN_TOKEN": "x", "COMPOSE_PROFILES": profile}
    subprocess.run([*binary, "config", "--quiet"], cwd=ROOT, env=environment, check=True, timeout=60)


class _Image:
    """The Dockerfile's steps done below a folder: `/opt` becomes `<folder>/opt`, and so on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._directory = folder
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        self.entrypoint: list[str] = []

    def _path(self, name: str) -> Path:
        return self._folder / name.removeprefix("/") if name.startswith("/") else self._directory / name

    def do(self, instruction: str, words: str) -> None:
        match instruction:
            case "COPY" if not words.startswith("--from"):
                self._copy(*words.split())
            case "WORKDIR":
                self._directory = self._path(words)
                self._directory.mkdir(parents=True)
            case "RUN" if not words.startswith("useradd"):
                self._run(words)
            case "ENV":
                for setting in words.split():
                    name, _, value = setting.partition("=")
                    value = value.replace("/opt", f"{self._folder}/opt").replace("$PATH", self.environment["PATH"])
                    self.environment[name] = value
            case "ENTRYPOINT":
                self.entrypoint = yaml.safe_load(words)

    def _copy(self, source: str, target: str) -> None:
        origin, place = ROOT / source, self._path(target)
        place = place / origin.name if target.endswith("/") else place
        place.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(origin, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(origin, place)

    def _run(self, words: str) -> None:
        words = re.sub(r"(?<=\s)/(opt|tmp)/", rf"{self._folder}/\1/", words)
        words = words.replace("--no-cache-dir", "--quiet").replace("python -m venv", f"{sys.executable} -m venv")
        subprocess.run(["bash", "-ec", words], env={**os.environ, **self.environment}, check=True, timeout=300)

    def start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.entrypoint, *arguments],
            cwd=self._directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def _instructions() -> list[tuple[str, str]]:
    joined = DOCKERFILE.read_text().replace("\\\n", " ")
    lines = [line.strip() for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return [(first, rest.strip()) for first, _, rest in (line.partition(" ") for line in lines)]


@pytest.mark.timeout(400)
def test_the_steps_of_the_dockerfile_make_a_program_that_runs(tmp_path: Path) -> None:
    image = _Image(tmp_path)
    for instruction, words in _instructions():
        image.do(instruction, words)
    shown = image.start("--help")
    assert shown.returncode == 0, shown.stderr
    assert {"api", "controller", "migrate", "simulate"} <= set(shown.stdout.split())
    # a database that is not there: the image's own imports and settings work up to the connection
    image.environment["PUMICE_DATABASE_URL"] = "postgresql://nobody@127.0.0.1:9/none"
    refused = image.start("migrate")
    assert refused.returncode == 1
    assert "database" in (refused.stdout + refused.stderr).lower()
    assert "Traceback" not in refused.stderr
