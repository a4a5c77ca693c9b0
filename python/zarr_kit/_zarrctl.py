"""The script ``zarrctl``: the program of the same name, in the extension module."""

import os
import signal
import sys

from zarr_kit import _engine


def main() -> int:
    """Run the command line of this process, and return the exit status."""
    # As in the program `zarrctl`, the signal ends the process, and verbs that write complete their current writes. A
    # shell that starts the script in the background has disabled the signal, and then Python has not set its handler.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ["ZARR_CONFORMANCE_PROGRAM"] = os.path.abspath(sys.argv[0])
    return _engine.run_zarrctl(["zarrctl", *sys.argv[1:]])
