"""The controller: the only writer to the cluster."""
