"""HiCS-FL: cluster clients by their estimated label entropy and prefer balanced clusters."""

from terrafl.selection.hics.selector import HiCSFL as HiCSFL
