"""Deterministic testing of anything that speaks the protocol: no I/O, no real time.

For connections of `sansmcp`, and for any object with `receive_message` and `messages_to_send`.
`sansmcp.testing.strategies` and `sansmcp.testing.machine` need Hypothesis, `sansmcp.testing.memory`
needs Trio; nothing else here does.
"""

from .clock import HasDeadlines, VirtualClock
from .pumping import NeverQuiet, Peer, Pumped, pump
from .recording import Difference, Replay, judge, observer, record, replay
from .scripts import Expectation, ScriptedClient, ScriptedServer, ScriptError

__all__ = [
    "Difference",
    "Expectation",
    "HasDeadlines",
    "NeverQuiet",
    "Peer",
    "Pumped",
    "Replay",
    "ScriptError",
    "ScriptedClient",
    "ScriptedServer",
    "VirtualClock",
    "judge",
    "observer",
    "pump",
    "record",
    "replay",
]
