"""Pumice: a REST job-submission service in front of the Volcano batch scheduler."""
