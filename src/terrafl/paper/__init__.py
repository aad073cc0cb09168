"""The paper's evaluation: its tables and figures, and our results for them."""
