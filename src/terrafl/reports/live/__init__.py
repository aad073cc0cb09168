"""The live page: run folders followed as they grow, and a small server that tells of it."""
