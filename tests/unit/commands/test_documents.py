from pathlib import Path

import pytest

from app.commands.failure import CommandFailed
from app.commands.generated import emit
from app.commands.settings_doc import render_settings
from app.settings import Settings


def test_a_file_that_differs_or_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "docs" / "problems.md"
    with pytest.raises(CommandFailed, match="run `make generated`"):
        emit("text\n", path, check=True, write=False, make="make generated")
    emit("text\n", path, check=False, write=True, make="make generated")
    emit("text\n", path, check=True, write=False, make="make generated")
    with pytest.raises(CommandFailed):
        emit("other\n", path, check=True, write=False, make="make generated")


def test_without_a_switch_the_text_is_printed_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    emit("text\n", tmp_path / "unused", check=False, write=False, make="make generated")
    assert capsys.readouterr().out == "text\n"
    assert not (tmp_path / "unused").exists()


def test_every_setting_is_in_the_example_with_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = render_settings()
    for name, field in Settings.model_fields.items():
        assert (f"# PUMICE_{name.upper()}=" in text) is not field.exclude
    example = tmp_path / ".env"
    # what has no default has an empty value in the example, and is left as a comment
    uncommented = (line.removeprefix("# ") for line in text.splitlines() if line.startswith("# PUMICE_"))
    example.write_text("\n".join(line for line in uncommented if not line.endswith("=")))
    for name in Settings.model_fields:
        monkeypatch.delenv(f"PUMICE_{name.upper()}", raising=False)
    assert Settings(_env_file=example) == Settings(_env_file=None)
