"""The networks of the paper, and how a model lies in memory."""

from terrafl.models.layout import Layout
from terrafl.models.networks import FEMNISTCNN, FMNISTCNN, MLP, MODELS, Linear, Model

__all__ = ["FEMNISTCNN", "FMNISTCNN", "MLP", "MODELS", "Layout", "Linear", "Model"]
