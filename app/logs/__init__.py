"""Logs of jobs: from live pods, and the last lines of those that are gone."""
