"""The data sets, one file each, and the catalog of all of them."""

from typing import Any

from terrafl.data.entry import Entry
from terrafl.data.sets.cifar import CIFAR10, CIFAR100
from terrafl.data.sets.digits import DIGITS
from terrafl.data.sets.femnist import FEMNIST
from terrafl.data.sets.fmnist import FMNIST
from terrafl.data.sets.har import HAR
from terrafl.data.sets.tiny_imagenet import TINY_IMAGENET
from terrafl.data.sets.unipen62 import UNIPEN62

__all__ = ["CATALOG"]

CATALOG: dict[str, Entry[Any]] = {  # Any: the files of each have their own kind of content
    entry.name: entry
    for entry in (DIGITS, FMNIST, CIFAR10, CIFAR100, TINY_IMAGENET, FEMNIST, UNIPEN62, HAR)
}
