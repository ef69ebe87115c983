"""Views over jobs and cluster facts together."""
