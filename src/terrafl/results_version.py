"""The version of terrafl's results."""

# Raise this in the commit that changes a byte of any result: of a final model, a journal or a
# summary, for settings that were valid before. Then run "python tests/golden/test_golden.py", which
# writes the golden digests again. A result under another version is another result: resuming across
# versions is refused, and finished runs of another version are named in a warning.
RESULTS_VERSION = 3
"""Equal for two commits of terrafl that give the same bytes for the same run."""
