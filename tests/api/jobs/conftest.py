"""Fixtures of the tests about jobs: a job body that is right, and members of two teams."""

from tests.fixtures.members import body, nlp, vision

__all__ = ["body", "nlp", "vision"]
