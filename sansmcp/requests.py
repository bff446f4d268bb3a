"""Requests in flight: ids, progress tokens, deadlines, and what became of the finished ones.

There is one `RequestTable` for each direction, that is, for the requests that one side has sent.
It knows no role: the side that asks and the side that answers keep the same table of a request.

Every operation costs the same however many requests are in flight, and what is kept of a finished
request is bounded by `Limits.max_remembered_requests`.
"""

import enum
import heapq
import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from .limits import MAX_COLLIDING_IDS
from .methods import RequestMethod
from .types import ProgressToken, RequestId, TaskMetadata

__all__ = [
    "ABANDONED",
    "ANSWERED",
    "IN_FLIGHT",
    "WIDE",
    "RequestInFlight",
    "RequestStatus",
    "RequestTable",
]

#: Integers from here on share their hashes with others, which anybody can work out.
WIDE: Final = sys.hash_info.modulus


class RequestStatus(enum.Enum):
    """What has become of a request."""

    #: Sent, and neither answered nor given up.
    IN_FLIGHT = "in flight"
    #: Answered, with a result or an error.
    ANSWERED = "answered"
    #: Given up by its sender: cancelled, or timed out. An answer may still cross.
    ABANDONED = "abandoned"

    def __repr__(self) -> str:
        return self.name


# On Python 3.11 a member of an enum is dear to look up.
IN_FLIGHT: Final = RequestStatus.IN_FLIGHT
ANSWERED: Final = RequestStatus.ANSWERED
ABANDONED: Final = RequestStatus.ABANDONED


@attrs.define(eq=False)
class RequestInFlight:
    """A request that waits for its answer.

    Attributes:
        id: its id, as it came: `7` and `"7"` are two ids.
        method: its row in the method table.
        request: the request itself.
        progress_token: the token under which its receiver may report progress, or None.
        timeout: seconds that it may wait for an answer or for progress, or None for ever.
        deadline: the clock's time at which it times out, or None.
        latest: the clock's time beyond which no progress moves `deadline`, or None.
        progress: the last value of progress that was reported, or None.
        task: the metadata with which it was augmented as a task, or None.
        size: bytes of its text, where it was received; what is kept of it grows with that.
    """

    id: RequestId
    method: RequestMethod
    request: Any
    progress_token: ProgressToken | None = None
    timeout: float | None = None
    deadline: float | None = None
    latest: float | None = None
    progress: float | None = None
    task: TaskMetadata | None = None
    size: int = 0


class RequestTable:
    """The requests that one side has sent.

    Args:
        max_remembered: how many finished requests are remembered, to tell an answer that crossed a
            cancellation (fine) from an answer to nothing (a fault). The oldest are forgotten first.

    Attributes:
        size: bytes of the texts of the requests in flight, all together.
        view: the requests in flight, by id.
    """

    def __init__(self, max_remembered: int) -> None:
        self._in_flight: dict[RequestId, RequestInFlight] = {}
        self._by_token: dict[ProgressToken, RequestInFlight] = {}
        self._finished: OrderedDict[RequestId, RequestStatus] = OrderedDict()
        self._retired_tokens: OrderedDict[ProgressToken, RequestStatus] = OrderedDict()
        self._max_remembered = max_remembered
        # (time, sequence number, request). An entry may be out of date: the request is finished, or
        # its deadline was moved. Such entries are put right when they come to the top.
        self._deadlines: list[tuple[float, int, RequestInFlight]] = []
        self._sequence = 0
        self.size = 0
        # Hash -> how many wide integers of that hash are ids or tokens in the tables above.
        self._hashes: dict[int, int] = {}
        self.view: Mapping[RequestId, RequestInFlight] = MappingProxyType(self._in_flight)

    def __len__(self) -> int:
        return len(self._in_flight)

    def get(self, id: RequestId) -> RequestInFlight | None:
        """The request with this id, if it is in flight."""
        return self._in_flight.get(id)

    def status(self, id: RequestId) -> RequestStatus | None:
        """What became of this id; None if it was never seen, or so long ago that it is forgotten."""
        if id in self._in_flight:
            return IN_FLIGHT
        return self._finished.get(id)

    def with_token(self, token: ProgressToken) -> RequestInFlight | None:
        """The request whose progress this token reports, if the token is active."""
        return self._by_token.get(token)

    def token_status(self, token: ProgressToken) -> RequestStatus | None:
        """What became of the request of this token; as `status`."""
        if token in self._by_token:
            return IN_FLIGHT
        return self._retired_tokens.get(token)

    def crowded(self, id: RequestId) -> bool:
        """Whether too many ids or tokens have the hash of this one.

        A dictionary of such ids would take longer with each of them; not only ours, but that of
        whoever keeps requests by their ids.
        """
        return bool(self._hashes) and self._hashes.get(hash(id), 0) >= MAX_COLLIDING_IDS

    def _count(self, id: RequestId, by: int) -> None:
        if id.__class__ is int and not -WIDE < id < WIDE:
            count = self._hashes.pop(hash(id), 0) + by
            if count:
                self._hashes[hash(id)] = count

    def add(self, request: RequestInFlight) -> None:
        """A request was sent. Its id and its token are not in flight yet."""
        id = request.id
        self._in_flight[id] = request
        self.size += request.size
        if id.__class__ is int and not -WIDE < id < WIDE:
            self._count(id, 1)
        if request.progress_token is not None:
            self._by_token[request.progress_token] = request
            self._count(request.progress_token, 1)
        if request.deadline is not None:
            self._push_deadline(request.deadline, request)

    def finish(
        self, request: RequestInFlight, status: RequestStatus, *, keep_token: bool = False
    ) -> None:
        """A request was answered or given up.

        With `keep_token` its progress may still be reported, until `retire_token` (PROG-09).
        """
        del self._in_flight[request.id]
        self.size -= request.size
        self._remember(self._finished, request.id, status)
        if request.progress_token is not None and not keep_token:
            self.retire_token(request, status)

    def retire_token(self, request: RequestInFlight, status: RequestStatus) -> None:
        """No more progress will be reported for a request."""
        token = request.progress_token
        if token is not None and self._by_token.get(token) is request:
            del self._by_token[token]
            self._remember(self._retired_tokens, token, status)

    def late_answer(self, id: RequestId) -> bool:
        """Whether an answer to this id crossed its cancellation. Says so once for each id."""
        if self._finished.get(id) is not ABANDONED:
            return False
        self._finished[id] = ANSWERED
        return True

    def _remember(self, memory: "OrderedDict[Any, RequestStatus]", key: Any, status: Any) -> None:
        if self._hashes and key in memory:
            self._count(key, -1)
        memory[key] = status
        if len(memory) > self._max_remembered:
            forgotten, _ = memory.popitem(last=False)
            if self._hashes:
                self._count(forgotten, -1)

    # ---- deadlines

    def restart_clock(self, request: RequestInFlight, now: float) -> None:
        """Progress arrived: the request may wait for its `timeout` again, but never past `latest`.

        LIFE-20 and LIFE-21. `deadline` only ever moves on, so the heap keeps its old entry.
        """
        if request.deadline is None or request.timeout is None:
            return
        deadline = now + request.timeout
        if request.latest is not None:
            deadline = min(deadline, request.latest)
        request.deadline = max(request.deadline, deadline)

    def next_deadline(self) -> float | None:
        """The clock's time at which the first request times out, or None."""
        heap = self._deadlines
        while heap:
            time, _, request = heap[0]
            if self._in_flight.get(request.id) is not request or request.deadline is None:
                heapq.heappop(heap)
            elif request.deadline > time:
                heapq.heappop(heap)
                self._push_deadline(request.deadline, request)
            else:
                return time
        return None

    def expired(self, now: float) -> Iterator[RequestInFlight]:
        """The requests whose deadline has passed, in its order; each must be finished, or lose its deadline."""
        while (deadline := self.next_deadline()) is not None and deadline <= now:
            yield self._deadlines[0][2]

    def _push_deadline(self, time: float, request: RequestInFlight) -> None:
        heap = self._deadlines
        if len(heap) > 2 * len(self._in_flight) + 64:
            # Most entries belong to requests that were answered long before their time.
            heap[:] = [entry for entry in heap if self._in_flight.get(entry[2].id) is entry[2]]
            heapq.heapify(heap)
        self._sequence += 1
        heapq.heappush(heap, (time, self._sequence, request))
