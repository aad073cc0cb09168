"""The data sets, one file each."""

from terrafl.data.sets.cifar10 import CIFAR10
from terrafl.data.sets.cifar100 import CIFAR100
from terrafl.data.sets.digits import DIGITS
from terrafl.data.sets.femnist import FEMNIST
from terrafl.data.sets.fmnist import FMNIST
from terrafl.data.sets.har import HAR
from terrafl.data.sets.tiny_imagenet import TINY_IMAGENET
from terrafl.data.sets.unipen62 import UNIPEN62

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "DIGITS",
    "FEMNIST",
    "FMNIST",
    "HAR",
    "TINY_IMAGENET",
    "UNIPEN62",
]
