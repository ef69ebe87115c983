"""Volcano's scheduler (v1.15.1, Helm's default configuration) as pure functions over plain data.

`run_session` takes a `Snapshot` and answers what one session would do, without reading or writing an API server;
`cache`, `effects` and `events` do that. The actions are enqueue, allocate and backfill; reclaim and preempt are in no
default configuration and are not built.
"""
