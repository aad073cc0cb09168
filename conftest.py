"""Which modules can be collected here."""

from importlib.util import find_spec

# Their examples are run where flwr is: by make test-flower.
collect_ignore_glob = [] if find_spec("flwr") else ["src/terrafl/flower/*"]
