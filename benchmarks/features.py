"""What keeping a frozen backbone's features saves: training the head with and without them.

    python benchmarks/features.py [--backbone efficientnet-lite0] [--images 512]

One thread, images of 64 x 64 pixels, Adam, batches of 64, a head of 200 classes; in turns.
"""

import argparse
import time

import numpy as np
import torch

from terrafl.models import BACKBONES
from terrafl.models.backbones.extractor import FeatureExtractor


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backbone", default="efficientnet-lite0", choices=list(BACKBONES))
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    backbone = BACKBONES[options.backbone](input_size=128)
    extractor = FeatureExtractor(backbone)
    draw = np.random.default_rng(0)
    images = draw.integers(0, 256, (options.images, 3, 64, 64), dtype=np.uint8)
    labels = torch.from_numpy(draw.integers(0, 200, options.images))
    kept = extractor.features(images)
    head = torch.nn.Linear(kept.shape[1], 200)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01, fused=True)

    def epoch(features_of):
        started = time.perf_counter()
        for start in range(0, options.images, 64):
            rows = slice(start, start + 64)
            optimizer.zero_grad(set_to_none=True)
            scores = head(torch.from_numpy(features_of(rows)))
            torch.nn.functional.cross_entropy(scores, labels[rows]).backward()
            optimizer.step()
        return options.images / (time.perf_counter() - started)

    ratios = []
    for _ in range(options.repetitions):
        again = epoch(lambda rows: extractor.features(images[rows]))
        cached = epoch(lambda rows: kept[rows])
        ratios.append(cached / again)
        print(f"recomputed {again:,.0f}/s, kept {cached:,.0f}/s: {ratios[-1]:.0f} times")
    print(f"{options.backbone}: {np.median(ratios):.0f} times (median)")


if __name__ == "__main__":
    main()
