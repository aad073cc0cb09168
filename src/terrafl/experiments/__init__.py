"""Configurations, scenarios and sweeps: whole experiments from one call."""
