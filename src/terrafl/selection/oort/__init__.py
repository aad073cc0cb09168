"""Oort: prefer clients with a high statistical utility that are fast enough."""

from terrafl.selection.oort.selector import Oort as Oort
