"""The guard: what a server does about clients that lie, break or attack. Pure numpy."""

from terrafl.guard.guard import Guard, Inspection

__all__ = ["Guard", "Inspection"]
