"""Clients without any framework, some of which fail on purpose."""
