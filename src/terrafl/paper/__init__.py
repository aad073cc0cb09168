"""The paper's evaluation: its tables, figures and claims, and our results for them."""
