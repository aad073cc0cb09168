"""What every test of Flower needs."""

import pytest
from flower_here import RUN_ID

collect_ignore = ["faulty_app"]  # an app of Flower's, run by Flower alone


@pytest.fixture
def flower():
    """Let messages be made outside of a Flower process, as inside one."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, RUN_ID, 1
    yield
    TaskIdentity._task_id = TaskIdentity._run_id = TaskIdentity._node_id = None
