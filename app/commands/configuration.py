"""Settings for a command: the environment's, with what the command line says on top."""

from typing import Any

from pydantic import ValidationError

from app.commands.failure import CommandFailed
from app.settings import Settings


def load_settings(**overrides: Any) -> Settings:
    """Read the settings; an override that is None is not one.

    Raises:
        CommandFailed: a setting is wrong. The sentence names it and never shows its value.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        faults = (f"PUMICE_{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
        raise CommandFailed(f"The settings are wrong. {'; '.join(faults)}.") from None


def is_given(settings: Settings, name: str) -> bool:
    """Whether a setting was given at all, and does not have its default."""
    return name in settings.model_fields_set
