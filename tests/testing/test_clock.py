"""Time that moves when told, and the deadlines on its way."""

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from sansmcp import RequestTimedOut, TaskBook, TaskExpired
from sansmcp.testing import VirtualClock, pump
from sansmcp.types import TaskMetadata
from tests.support import CLIENT_CAN, SERVER_CAN, names, ready_pair
from tests.test_tasks import CLIENT_TASKS, SERVER_TASKS


def test_it_stands_still_and_moves_when_told():
    clock = VirtualClock(5)
    assert clock() == clock() == 5
    assert clock.advance(2.5) == []
    assert clock() == clock.now == 7.5


def test_it_does_not_run_backwards():
    clock = VirtualClock()
    for seconds in (-1, float("nan")):
        with pytest.raises(ValueError, match="0 seconds or more"):
            clock.advance(seconds)
    assert clock.now == 0


def test_the_time_of_day_moves_with_it():
    start = datetime(2030, 5, 6, tzinfo=UTC)
    clock = VirtualClock(1000, start)
    clock.advance(0.25)
    assert clock.wall_clock() == start + timedelta(milliseconds=250)


def test_deadlines_run_in_the_order_of_time_and_each_at_its_own():
    clock = VirtualClock()
    client, server = ready_pair({"clock": clock}, {"clock": clock})
    clock.attach(client)
    assert clock.attach(server) is server
    late, early = client.ping(timeout=9), client.ping(timeout=3)
    between = server.ping(timeout=5)
    times = []
    events: Any = clock.advance(9, then=lambda: times.append(clock.now))
    assert [(timed, event.id) for timed, event in events] == [
        (client, early),
        (server, between),
        (client, late),
    ]
    assert all(isinstance(event, RequestTimedOut) for _, event in events)
    assert times == [3, 5, 9]
    assert clock.next_deadline() is None


def test_what_is_not_due_yet_is_left():
    clock = VirtualClock()
    client, _ = ready_pair({"clock": clock}, {"clock": clock})
    clock.attach(client)
    client.ping(timeout=10)
    assert clock.advance(9.9) == []
    assert clock.next_deadline() == 10
    assert len(clock.advance(0.2)) == 1


def test_between_deadlines_the_others_are_told():
    clock = VirtualClock()
    client, server = ready_pair({"clock": clock}, {"clock": clock})
    clock.attach(client)
    client.call_tool("t", {}, timeout=3)
    of_server = []
    clock.advance(5, then=lambda: of_server.extend(pump(client, server).server))
    assert names(of_server) == ["RequestReceived", "RequestCancelled"]


def test_a_book_of_tasks_goes_by_its_time_of_day():
    clock = VirtualClock()
    book = TaskBook(wall_clock=clock.wall_clock)
    client, server = ready_pair(
        {"clock": clock, "capabilities": attrs.evolve(CLIENT_CAN, tasks=CLIENT_TASKS)},
        {
            "clock": clock,
            "capabilities": attrs.evolve(SERVER_CAN, tasks=SERVER_TASKS),
            "tasks": book,
        },
    )
    client.call_tool("t", {}, task=TaskMetadata(ttl=60_000))
    [request] = pump(client, server).server
    task = server.create_task(request.id)
    pump(client, server)
    clock.attach(server)
    assert clock.advance(59.9) == []
    assert [event for _, event in clock.advance(0.2)] == [TaskExpired(task)]


def test_a_deadline_that_never_passes_is_found():
    class Stuck:
        def next_deadline(self):
            return 1.0

        def handle_deadlines(self):
            return []

    clock = VirtualClock()
    clock.attach(Stuck())
    with pytest.raises(AssertionError, match=r"at 1\.0 does not pass"):
        clock.advance(2)
