"""Measurements that exist for the length of a block."""

from contextlib import contextmanager

from terrafl.selection import needs


@contextmanager
def registered(*measurements):
    """Register measurements, and forget them afterwards."""
    before = dict(needs.known())
    try:
        for measurement in measurements:
            needs.register(measurement)
        yield
    finally:
        needs._REGISTRY.clear()
        needs._REGISTRY.update(before)
