"""Time that moves when told."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeVar

from sansmcp import Event

__all__ = ["HasDeadlines", "VirtualClock"]

_EPOCH: Final = datetime(2025, 1, 1, tzinfo=UTC)
#: How often a deadline may come at one and the same moment before it is one that never passes.
_STUCK: Final = 1_000


class HasDeadlines(Protocol):
    """What a clock can be told of: every connection, and whatever has these two methods."""

    def next_deadline(self) -> float | None:
        """When it has something to do, by the clock; None if never."""

    def handle_deadlines(self) -> list[Event]:
        """Do what is due."""


_Timed = TypeVar("_Timed", bound=HasDeadlines)


class VirtualClock:
    """A clock for connections, and for task books, that stands still unless it is advanced.

    Pass the clock itself as a connection's `clock`, and its method `wall_clock` as that of a
    `TaskBook`. What is attached has its deadlines run by `advance`.

    Args:
        now: what it shows at first, in seconds.
        wall_time: what time of day it is then; an aware datetime.

    Attributes:
        now: what it shows, in seconds.
    """

    def __init__(self, now: float = 0.0, wall_time: datetime = _EPOCH) -> None:
        self.now = now
        self._zero = wall_time - timedelta(seconds=now)
        self._attached: list[HasDeadlines] = []

    def __call__(self) -> float:
        """What it shows, in seconds."""
        return self.now

    def wall_clock(self) -> datetime:
        """The time of day, which moves with the clock."""
        return self._zero + timedelta(seconds=self.now)

    def attach(self, timed: _Timed) -> _Timed:
        """Have `advance` run the deadlines of a connection that goes by this clock; gives it back."""
        self._attached.append(timed)
        return timed

    def next_deadline(self) -> float | None:
        """When something that is attached has to do something; None if never."""
        return min((time for time, _ in self._due()), default=None)

    def advance(
        self, seconds: float, then: Callable[[], object] | None = None
    ) -> list[tuple[HasDeadlines, Event]]:
        """Let time pass, and do on the way what falls due, in the order of time.

        Each deadline is handled at its own moment: the clock shows it while it is. Of those of one
        moment, what was attached first comes first.

        Args:
            seconds: how far to move, 0 or more.
            then: called after each deadline, to carry over what it has to say, such as
                `lambda: pump(client, server)`.

        Returns:
            What happened, and to which of those that are attached.

        Raises:
            ValueError: time does not run backwards.
            AssertionError: a deadline does not pass, however often it is handled.
        """
        if not seconds >= 0:
            raise ValueError(f"time moves on by 0 seconds or more, not by {seconds}")
        end = self.now + seconds
        events: list[tuple[HasDeadlines, Event]] = []
        handled = 0
        while due := [one for one in self._due() if one[0] <= end]:
            moment, timed = min(due, key=lambda one: one[0])
            if moment > self.now:
                self.now, handled = moment, 0
            handled += 1
            if handled > _STUCK:
                raise AssertionError(f"the deadline of {timed} at {moment} does not pass")
            events += [(timed, event) for event in timed.handle_deadlines()]
            if then is not None:
                then()
        self.now = end
        return events

    def _due(self) -> list[tuple[float, HasDeadlines]]:
        times = [(timed.next_deadline(), timed) for timed in self._attached]
        return [(time, timed) for time, timed in times if time is not None]
