"""A request of ours that has become a task at the peer's (basic/utilities/tasks)."""

from typing import Any, Generic, TypeVar

import trio

from sansmcp import ProgressReceived
from sansmcp import types as t

from ._pump import Call, Pump
from .errors import TaskCancelled

__all__ = ["TaskHandle"]

_R = TypeVar("_R", bound=t.Result)


class TaskHandle(Generic[_R]):
    """What has become of a request, and what becomes of it. Got from `call_tool_as_task` and its kin.

    The task is looked after by the session: at the pace that the peer suggests it is asked how the
    task stands, and for its result when there is one. To leave the handle alone does not stop it.

    Iterating gives how the task stands (`Task`) and what progress it makes (`ProgressReceived`), as
    it is told, and ends when there is a result. At most 1,000 of these are kept.
    """

    def __init__(self, pump: Pump[Any], call: Call) -> None:
        self._pump = pump
        self._call = call
        self._given_up = False

    @property
    def task(self) -> t.Task | None:
        """How the task stood last; None where the peer has answered at once, without a task."""
        return self._call.task

    @property
    def immediate_response(self) -> str | None:
        """What to tell the model in the meantime, if the peer has said (TASK-13)."""
        return None if self._call.created is None else self._call.created.immediate_response

    async def result(self) -> _R:
        """Wait for what the plain request would have been answered with.

        It can be asked for again. To cancel this does not stop the task.

        Raises:
            PeerError: the request has failed, or the peer has stopped the task.
            TaskCancelled: we have.
            ConnectionLost: the connection has ended. The task may go on, and be asked for in
                another session by its id.
        """
        await trio.lowlevel.checkpoint()
        while self._call.outcome is None:
            await self._wait()
        result: _R = self._call.result()
        return result

    async def cancel(self) -> None:
        """Stop the task. That the peer has done so is not waited for.

        Raises:
            LocalProtocolError: the peer has not declared that its tasks can be stopped.
        """
        await trio.lowlevel.checkpoint()
        if self._call.outcome is None and not self._given_up:
            self._pump.check()
            self._pump.connection.cancel_request(self._call.id)
            self._given_up = True
            self._pump.forget(self._call)

    def __aiter__(self) -> "TaskHandle[_R]":
        return self

    async def __anext__(self) -> t.Task | ProgressReceived:
        await trio.lowlevel.checkpoint()
        while not self._call.updates:
            if self._call.outcome is not None:
                raise StopAsyncIteration
            await self._wait()
        return self._call.updates.popleft()

    async def _wait(self) -> None:
        if self._given_up:
            raise TaskCancelled("the task was cancelled")
        self._pump.check()
        await self._call.stirred.wait()
