"""The same selectors on Flower: in its simulation and over real machines.

Needs the extra: ``pip install 'terrafl[flower]'``.
"""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily

if TYPE_CHECKING:
    from terrafl.flower.client import answer as answer
    from terrafl.flower.client import report as report
    from terrafl.flower.strategy import ClientSelection as ClientSelection
    from terrafl.flower.torch_client import follow as follow

__getattr__, __dir__ = lazily(__name__, __file__)
