"""A simulated cluster: a small Kubernetes API server, Volcano's parts on top of it, and GPU nodes.

It is never imported by the service itself; the command line starts it beside the service.
"""
