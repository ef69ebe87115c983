"""Volcano v1.15.1 as the simulated cluster runs it: admission, controllers and scheduler."""
