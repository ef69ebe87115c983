"""What the command line says about a scheduler configuration that cannot be used."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app


@pytest.mark.parametrize("command", [["simulate", "--port", "0"], ["up", "--port", "0"]], ids=["simulate", "up"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "There is no scheduler configuration"),
        ("actions: alocate", "is wrong: There is no action 'alocate'; Volcano knows"),
    ],
    ids=["missing", "wrong"],
)
def test_unusable_file_is_one_sentence_and_nothing_starts(
    tmp_path: Path, command: list[str], text: str | None, says: str
) -> None:
    path = tmp_path / "volcano-scheduler.conf"
    if text is not None:
        path.write_text(text)
    data = tmp_path / "data"
    result = CliRunner().invoke(app, [*command, "--data-dir", str(data), "--scheduler-config", str(path)])
    assert result.exit_code == 1
    assert says in result.output
    assert "Traceback" not in result.output
    assert not list(data.glob("*"))
