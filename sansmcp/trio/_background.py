"""Nurseries that can be opened and closed in any order, and exceptions without their groups."""

import contextvars
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import trio

__all__ = ["background_nursery", "bare"]


@asynccontextmanager
async def background_nursery() -> AsyncIterator[trio.Nursery]:
    """A nursery in a task of its own, which ends with the block.

    A nursery of the caller's task would have to be closed before all that were opened earlier, and
    would wrap what the body raises in a group. Sessions promise neither, so theirs lives elsewhere.
    What its tasks raise is raised at the end of the block; the body is not cancelled by it.
    """
    opened, closed = trio.Event(), trio.Event()
    nursery: trio.Nursery
    failure: BaseException | None = None

    async def host() -> None:
        nonlocal nursery, failure
        try:
            async with trio.open_nursery() as nursery:
                opened.set()
                await trio.sleep_forever()
        except BaseException as error:
            failure = bare(error)
        finally:
            closed.set()

    trio.lowlevel.spawn_system_task(host, context=contextvars.copy_context())
    with trio.CancelScope(shield=True):
        await opened.wait()
    try:
        yield nursery
    finally:
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await closed.wait()
        if failure is not None and not isinstance(failure, trio.Cancelled):
            raise failure


def bare(error: BaseException) -> BaseException:
    """The one exception that a group is about, or the group where there are several.

    `Cancelled` does not count beside others: it is how Trio ends what stands beside a failure.
    """
    leaves = [leaf for leaf in _leaves(error) if not isinstance(leaf, trio.Cancelled)]
    if not leaves:
        return next(_leaves(error))
    return leaves[0] if len(leaves) == 1 else error


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
