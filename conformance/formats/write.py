"""Adds examples that are not there yet: `python write.py` those by hand, `python write.py peers` those of other programs.

What is there is read for ever: it is never written again. Those by hand need numcodecs for blosc, bz2, lz4, zstd and crc32c; the
environment `zarr3` of `conformance/interop` has it, and the other programs.
"""

import sys

import by_hand_draft
import by_hand_v2
import by_hand_v3
from book import Book

BOOKS = {name: Book(name) for name in ("v2", "draft", "v3")}
if sys.argv[1:] == ["peers"]:
    import by_peers

    by_peers.write(BOOKS)
else:
    by_hand_v2.write(BOOKS["v2"])
    by_hand_draft.write(BOOKS["draft"])
    by_hand_v3.write(BOOKS["v3"])
for book in BOOKS.values():
    book.close()
