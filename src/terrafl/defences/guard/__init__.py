"""The guard: bounds what a client that lies, breaks or attacks can do. numpy only."""

from terrafl.defences.guard.guard import Guard as Guard
