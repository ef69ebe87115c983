"""`pumice simulate --kubeconfig`: what it refuses before it does anything, each in one sentence."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from app.cli import app


def ended(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["simulate", *arguments])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("pumice: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def test_options_of_a_cluster_of_our_own_are_refused(kubeconfig: Path) -> None:
    said = ended("--kubeconfig", str(kubeconfig), "--nodes", "3x2", "--port", "8081")
    assert "--port, --nodes cannot be used with --kubeconfig" in said


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    assert "There is no kubeconfig" in ended("--kubeconfig", str(tmp_path / "absent"))


def test_a_file_that_is_none_is_said(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("[")
    assert "cannot be read" in ended("--kubeconfig", str(path))


def test_a_server_that_is_not_there_is_said(kubeconfig: Path) -> None:
    assert "cannot be reached" in ended("--kubeconfig", str(kubeconfig))
