"""Volcano's scheduler (v1.15.1) as pure functions over plain data.

`run_session` takes a `Snapshot` and answers what one session would do, without reading or writing an API server;
`cache`, `effects` and `events` do that. Which actions run and which plugins are asked is in a configuration file of
Volcano's format (`configuration`, `policy`); reclaim and preempt are in no default one.
"""
