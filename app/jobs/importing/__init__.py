"""Volcano Jobs as people have them, YAML or JSON, read as jobs of ours. Pure but for `service.py`."""
