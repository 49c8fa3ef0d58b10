"""The contestants: each a process that speaks the protocol of `protocol.py`."""
