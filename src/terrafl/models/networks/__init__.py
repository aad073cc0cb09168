"""The networks: settings objects that build a torch module.

The final layer of each is ``head``. torch is imported only when a network is built.
"""

from terrafl.models.networks.har import HARCNN
from terrafl.models.networks.images import CIFAR10CNN, CIFAR100CNN, FEMNISTCNN, FMNISTCNN
from terrafl.models.networks.perceptrons import MLP, Linear
from terrafl.models.networks.protocol import Model

__all__ = ["MODELS"]

MODELS: dict[str, type[Model]] = {
    cls.name: cls for cls in (Linear, MLP, FMNISTCNN, CIFAR10CNN, CIFAR100CNN, FEMNISTCNN, HARCNN)
}
"""Networks by name, for configuration files and the command line."""
