"""What bfloat16 does to accuracy on Fashion-MNIST: the same run in both precisions.

    python benchmarks/bf16_effect.py [--rounds 10] [--seeds 0] [--selector random]

The effect does not depend on the processor, only the speed does; so the check that refuses
bfloat16 where it would be slow is left out here.
"""

import argparse

from terrafl.experiments.api import configure
from terrafl.experiments.run import execute
from terrafl.simulation import trainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--selector", default="random")
    options = parser.parse_args()
    trainer._require_precision = lambda precision, device: None
    for seed in options.seeds:
        for precision in ("fp32", "bf16"):
            config = configure(
                scenario="fmnist-4",
                selector=options.selector,
                seed=seed,
                rounds=options.rounds,
                precision=precision,
            )
            summary = execute(config).summary
            curve = " ".join(f"{point.accuracy:.2%}" for point in summary.curve)
            print(f"seed {seed} {precision}: {curve}", flush=True)


if __name__ == "__main__":
    main()
