"""Handwritten digits over unlike clients: a Flower app whose clients Terraform chooses."""
