"""The same selectors on Flower: in its simulation and over real machines.

Needs the extra: ``pip install 'terrafl[flower]'``.
"""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily

if TYPE_CHECKING:
    from terrafl.flower.client import answer, report
    from terrafl.flower.strategy import ClientSelection

__all__ = ["ClientSelection", "answer", "report"]

__getattr__ = lazily(
    __name__,
    {
        "ClientSelection": "terrafl.flower.strategy",
        **dict.fromkeys(("answer", "report"), "terrafl.flower.client"),
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
