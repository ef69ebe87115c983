import stat
from pathlib import Path

import pytest

from app.commands.data_directory import DataDirectory, locked
from app.commands.failure import CommandFailed


def test_a_second_user_of_the_directory_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "data"),
        pytest.raises(CommandFailed, match=r"Process \d+ already uses"),
        locked(tmp_path / "data"),
    ):
        pytest.fail("two of them hold it")


def test_the_directory_is_free_again_afterwards(tmp_path: Path) -> None:
    with locked(tmp_path):
        pass
    with locked(tmp_path) as again:
        assert again.root == tmp_path.resolve()


def test_a_directory_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandFailed, match="cannot be used"), locked(tmp_path / "file" / "data"):
        pytest.fail("it was made")


def test_the_admin_token_is_made_once_and_readable_by_us_alone(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    token = directory.kept_admin_token()
    assert len(token) >= 43  # 256 random bits in base64
    assert directory.kept_admin_token() == token
    assert stat.S_IMODE(directory.admin_token.stat().st_mode) == 0o600
    assert DataDirectory(tmp_path / "other").root.parent == tmp_path.resolve()
