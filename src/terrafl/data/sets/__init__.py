"""The data sets, one file each."""

from terrafl.data.sets.digits import DIGITS
from terrafl.data.sets.fmnist import FMNIST

__all__ = ["DIGITS", "FMNIST"]
