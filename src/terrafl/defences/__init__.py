"""Defences: intake checks, the guard, robust rules; and attackers to test them. numpy only."""

from terrafl.defences.attack import KINDS as KINDS
from terrafl.defences.attack import Attack as Attack
from terrafl.defences.attack import Attackers as Attackers
from terrafl.defences.attack import Kind as Kind
from terrafl.defences.attack import draw_attackers as draw_attackers
from terrafl.defences.guard import Guard as Guard
from terrafl.defences.intake import Intake as Intake
from terrafl.defences.protocol import Defence as Defence
from terrafl.defences.protocol import Inspected as Inspected
from terrafl.defences.protocol import Iteration as Iteration
