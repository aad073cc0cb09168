"""Defences: intake checks, the guard, robust rules; and attackers to test them. numpy only."""

from terrafl.defences.attack import KINDS, Attack, Kind
from terrafl.defences.attackers import Attackers, draw_attackers
from terrafl.defences.guard import Guard
from terrafl.defences.intake import Intake
from terrafl.defences.protocol import Defence, Inspected, Iteration

__all__ = [
    "KINDS",
    "Attack",
    "Attackers",
    "Defence",
    "Guard",
    "Inspected",
    "Intake",
    "Iteration",
    "Kind",
    "draw_attackers",
]
