"""One module for each program that writes hierarchies for `write_cases.py`."""
