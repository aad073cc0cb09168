"""The live page: follows run folders while they grow, and serves the news."""
