"""Algorithm 2 of clustered sampling, slow and simple, as an oracle."""

from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist


def transcribed_bins(generator, rows, sizes, num_bins):
    """Follow Algorithm 2 client by client; no client may have more units than a bin holds."""
    capacity, units = sum(sizes), [num_bins * size for size in sizes]
    members = {i: [i] for i in range(len(sizes))}
    whole = dict(members)
    for step, (left, right, *_) in enumerate(linkage(pdist(rows), "ward").tolist()):
        node = members[int(left)] + members[int(right)]
        members[len(sizes) + step] = node
        if sum(units[i] for i in node) <= capacity:
            whole[len(sizes) + step] = node
            del whole[int(left)], whole[int(right)]
    clusters = sorted(whole.values(), key=lambda node: sum(units[i] for i in node))
    bins = [dict.fromkeys(range(len(sizes)), 0) for _ in range(num_bins)]
    for row, node in zip(bins, clusters[-num_bins:], strict=True):
        row.update({i: units[i] for i in node})
    k = 0
    for node in clusters[:-num_bins]:
        for i in generator.permutation(sorted(node)).tolist():
            left = units[i]
            while left > 0:
                poured = min(capacity - sum(bins[k].values()), left)
                bins[k][i] += poured
                left -= poured
                k += sum(bins[k].values()) == capacity
    return [list(row.values()) for row in bins]
