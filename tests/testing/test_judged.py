"""Every connection of these tests is judged; what judges them would find something."""

from sansmcp import OutgoingMessage
from tests.support import broken_by_us, conversations, ready_pair, ready_server, sent


def test_what_our_connections_break_is_found():
    server = ready_server()
    assert broken_by_us() == []
    conversations.clear()
    server = ready_server()
    server._queue.append(OutgoingMessage(b'{"jsonrpc":"2.0","id":"x","result":{}}'))
    sent(server)
    [broken] = broken_by_us()
    assert broken.startswith("JRPC-06: ")
    assert broken.endswith("server: result #x")
    conversations.clear()


def test_what_the_peer_breaks_is_not_held_against_us():
    client, server = ready_pair()
    client._queue.append(OutgoingMessage(b"no json"))
    server.receive_data(client.data_to_send())
    assert len(broken_by_us()) == 1
    conversations[:] = [one for one in conversations if one[0].name == "SERVER"]
