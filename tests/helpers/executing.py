"""Train clients on an executor in one call."""

from terrafl.simulation.job import Work


def train(executor, tasks, received=None):
    """Train tasks from a model, or from the initial one."""
    model = executor.initial_model if received is None else received
    return executor.train(Work(received=model, tasks=tasks))
