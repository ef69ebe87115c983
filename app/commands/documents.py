"""`pumice openapi`, `settings` and `problems`: committed files that are generated from the code."""

import json
from pathlib import Path

from app.commands.generated import emit
from app.commands.settings_doc import render_settings
from app.settings import Settings

OPENAPI = Path("openapi/openapi.json")
PROBLEMS = Path("docs/problems.md")
SETTINGS = Path(".env.example")


def openapi(*, check: bool, write: bool) -> None:
    """The contract as OpenAPI 3.1, the same bytes for the same code."""
    from app.db import Sessions  # noqa: PLC0415 - the other documents need no web framework
    from app.main import create_app  # noqa: PLC0415 - the same

    # the defaults alone, whatever the environment says; the session maker has no database and is never called
    document = create_app(Settings.model_construct(), Sessions()).openapi()
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    emit(text, OPENAPI, check=check, write=write, make="make openapi")


def settings(*, check: bool, write: bool) -> None:
    """`.env.example`."""
    emit(render_settings(), SETTINGS, check=check, write=write, make="make generated")


def problems(*, check: bool, write: bool) -> None:
    """`docs/problems.md`."""
    from app.problems import render_problems_markdown  # noqa: PLC0415 - the other documents need no web framework

    emit(render_problems_markdown(), PROBLEMS, check=check, write=write, make="make generated")
