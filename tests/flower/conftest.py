"""What every test of Flower needs."""

import pytest
from flower_here import flower_process

collect_ignore = ["faulty_app"]  # an app of Flower's, run by Flower alone


@pytest.fixture
def flower():
    """Let messages be made outside of a Flower process, as inside one."""
    with flower_process():
        yield
