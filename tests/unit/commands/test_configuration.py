import pytest

from app.commands.configuration import is_given, load_settings
from app.commands.failure import CommandFailed
from app.commands.node_shape import NodeShape, parse_nodes
from app.commands.readiness import unsynced


def test_a_wrong_setting_is_named_and_its_value_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUMICE_PORT", "hunter2")
    with pytest.raises(CommandFailed, match="PUMICE_PORT") as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "hunter2", "mysql://pumice:hunter2@db/pumice", "postgresql+psycopg://:hunter2@db/pumice"]
)
def test_only_an_address_of_postgres_will_do(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PUMICE_DATABASE_URL", url)
    with pytest.raises(CommandFailed, match=r"PUMICE_DATABASE_URL: it has the form postgresql://") as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


def test_the_command_line_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUMICE_PORT", "1234")
    assert load_settings(port=99).port == 99
    assert load_settings(port=None).port == 1234


def test_a_given_setting_is_told_from_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PUMICE_DATABASE_URL", raising=False)
    assert not is_given(load_settings(), "database_url")
    monkeypatch.setenv("PUMICE_DATABASE_URL", "postgresql://127.0.0.1/pumice")
    assert is_given(load_settings(), "database_url")


@pytest.mark.parametrize(
    ("text", "shape"), [("3x2", NodeShape(3, 2)), ("1x0", NodeShape(1, 0)), ("1000x64", NodeShape(1000, 64))]
)
def test_nodes_are_read(text: str, shape: NodeShape) -> None:
    assert parse_nodes(text) == shape


@pytest.mark.parametrize("text", ["", "3", "3x", "x2", "0x2", "3x2x1", "-1x2", "1001x1", "3x65", "3 x 2", "\u0663x2"])
def test_other_nodes_are_refused(text: str) -> None:
    with pytest.raises(CommandFailed, match="--nodes"):
        parse_nodes(text)


def test_watches_are_synced_only_when_each_of_them_is() -> None:
    assert unsynced({}) == ["the controller's watches"]
    assert unsynced({"Job": {"synced": True}, "Pod": {"synced": False}}) == ["the watch of Pod"]
    assert unsynced({"Job": {"synced": True}}) == []
