"""Which clients are trained together, by a rule that knows nothing of workers."""

from collections.abc import Sequence


def grouped(sizes: Sequence[int], group_size: int) -> list[list[int]]:
    """Cut positions into groups of clients of similar size, largest first.

    Every worker gets the same bytes for a group. Free workers take the groups in this order,
    which keeps all workers busy to the end.

    Examples
    --------
    >>> grouped([10, 30, 20, 40, 50], 2)
    [[4, 3], [1, 2], [0]]
    """
    order = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))
    return [order[i : i + group_size] for i in range(0, len(order), group_size)]
