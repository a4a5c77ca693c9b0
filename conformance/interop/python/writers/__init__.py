"""One module per program that writes hierarchies for `write_cases.py`."""
