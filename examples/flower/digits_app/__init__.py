"""A Flower app: handwritten digits over heterogeneous clients that Terraform chooses."""
