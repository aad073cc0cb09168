"""Clients that lie, break or attack, simulated: what they send in place of what they should."""

from terrafl.attacks.attack import KINDS, Attack, Kind
from terrafl.attacks.attackers import Attackers, draw_attackers

__all__ = ["KINDS", "Attack", "Attackers", "Kind", "draw_attackers"]
