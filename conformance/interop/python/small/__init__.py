"""Small hierarchies, with one module for each program that writes them for `write.py`."""
