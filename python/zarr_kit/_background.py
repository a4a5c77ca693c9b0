"""Calls that run on threads while an event loop continues."""

from collections.abc import Callable

from zarr_kit import _engine


async def in_background[T](work: Callable[[_engine.Progress], T]) -> T:
    """Run `work` on a thread, and cancel it if the task is cancelled.

    After a cancellation, the task ends when the chunks that were started are complete, so that no thread still uses the
    memory of the caller.
    """
    # Only imported if it is used, because it loads many modules.
    import asyncio

    progress = _engine.Progress()
    running = asyncio.get_running_loop().run_in_executor(None, work, progress)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        progress.cancel()
        await asyncio.wait([running])
        # Otherwise the event loop would report the error of the cancelled call as unhandled.
        if not running.cancelled():
            running.exception()
        raise
