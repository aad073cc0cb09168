"""The networks of the paper, and how a model lies in memory."""

from terrafl.models.layout import Layout
from terrafl.models.networks import FMNISTCNN, MLP, MODELS, Linear, Model

__all__ = ["FMNISTCNN", "MLP", "MODELS", "Layout", "Linear", "Model"]
