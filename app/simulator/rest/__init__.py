"""The Kubernetes REST and watch protocol over HTTP, on a registry."""
