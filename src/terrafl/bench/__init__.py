"""Speed benchmarks. Compared variants are measured in one run; these are not tests."""
