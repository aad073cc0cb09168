"""The attack bench: the same federation attacked in every way, with and without the guard."""
