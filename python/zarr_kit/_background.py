"""Calls that run on threads while an event loop continues."""

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from zarr_kit import _engine

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

# The number of calls that run at the same time. Each of them uses the threads of the engine.
_CALLS = 32


async def in_background[T](work: Callable[[_engine.Progress], T]) -> T:
    """Run `work` on a thread, and cancel it if the task is cancelled.

    After a cancellation, the task ends when no thread uses the memory of the caller any more: reads of a store on a
    server end immediately, and others when the chunks that were started are complete.
    """
    # Only imported if it is used, because it loads many modules.
    import asyncio

    progress = _engine.Progress()
    running = asyncio.get_running_loop().run_in_executor(_executor(os.getpid()), work, progress)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        progress.cancel()
        await asyncio.wait([running])
        # Otherwise the event loop would report the error of the cancelled call as unhandled.
        if not running.cancelled():
            running.exception()
        raise


@functools.cache
def _executor(process: int) -> "ThreadPoolExecutor":
    """Return the threads for calls of a process. The executor of an event loop may be occupied by other work."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_CALLS, thread_name_prefix="zarr-kit-async")
