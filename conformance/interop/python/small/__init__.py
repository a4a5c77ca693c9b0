"""Small hierarchies, one module per program that writes them for `write.py`."""
