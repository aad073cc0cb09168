"""Pretrained networks that turn images into features; only a head on top is trained."""
