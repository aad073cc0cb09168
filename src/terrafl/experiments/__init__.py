"""Experiments: configurations, scenarios, single runs and sweeps."""
