"""Adds missing examples: `python write.py` adds handwritten ones, `python write.py peers` those of other programs, and
`python write.py proposals` those of programs that write proposed extensions.

Examples that exist are never written again. Handwritten examples need numcodecs for blosc, bz2, lz4, zstd and crc32c.
The environment `zarr3` of `conformance/interop` has numcodecs and the other programs.
"""

import sys

import by_hand_draft
import by_hand_proposals
import by_hand_v2
import by_hand_v3
from book import Book

BOOKS = {name: Book(name) for name in ("v2", "draft", "v3")}
if sys.argv[1:] == ["peers"]:
    import by_peers

    by_peers.write(BOOKS)
elif sys.argv[1:] == ["proposals"]:
    import by_proposals

    by_proposals.write(BOOKS["v3"])
else:
    by_hand_v2.write(BOOKS["v2"])
    by_hand_draft.write(BOOKS["draft"])
    by_hand_v3.write(BOOKS["v3"])
    by_hand_proposals.write(BOOKS["v3"])
for book in BOOKS.values():
    book.close()
