"""The simulator: the round loop, and who does its work."""
