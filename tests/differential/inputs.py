"""What both servers are fed with, in this order, and in one conversation.

Every input has ids of its own, so that an answer can be told from others that come late.
"""

import json
from typing import Any, Final

import attrs

from tests.support import error, notification, request, result

__all__ = ["INPUTS", "Input"]

CLIENT: Final = {"name": "by-hand", "version": "0"}


@attrs.frozen
class Input:
    """Something to feed.

    Attributes:
        about: what it is, in a few words; unique.
        text: the line or lines.
        ids: the ids under which it may be answered, besides none at all.
    """

    about: str
    text: bytes
    ids: tuple[Any, ...] = ()


def raw(about: str, text: str | bytes, *ids: Any) -> Input:
    return Input(about, text if isinstance(text, bytes) else text.encode(), ids)


def say(about: str, *messages: Any) -> Input:
    ids = [
        message["id"]
        for message in messages
        if isinstance(message, dict)
        and type(message.get("id")) in (int, str)
        and "method" in message
    ]
    return Input(
        about,
        b"\n".join(json.dumps(message).encode() for message in messages),
        tuple(dict.fromkeys(ids)),
    )


def ask(about: str, id: Any, method: Any, params: Any = None) -> Input:
    return say(about, request(id, method, params))


def call(about: str, id: Any, name: Any, arguments: Any = None) -> Input:
    return ask(about, id, "tools/call", {"name": name, "arguments": arguments or {}})


def initialize(about: str, id: Any, **params: Any) -> Input:
    known = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
    return ask(about, id, "initialize", {**known, **params})


_INITIALIZE = {"protocolVersion": "2025-11-25", "clientInfo": CLIENT}

INPUTS: Final[tuple[Input, ...]] = (
    # -- before the handshake
    ask("ping before initialize", "b1", "ping"),
    ask("tools/list before initialize", "b2", "tools/list"),
    ask("an unknown method before initialize", "b3", "no/such"),
    say("notifications/initialized before initialize", notification("notifications/initialized")),
    ask("initialize without params", "b4", "initialize"),
    ask("initialize without capabilities", "b5", "initialize", _INITIALIZE),
    initialize("initialize with a version that is a number", "b6", protocolVersion=20251125),
    raw("text that is no JSON before initialize", "hello"),
    initialize("initialize", "init"),
    ask("ping between initialize and initialized", "b7", "ping"),
    ask("tools/list between initialize and initialized", "b8", "tools/list"),
    say("notifications/initialized", notification("notifications/initialized")),
    # -- text
    raw("text that is no JSON", "hello"),
    raw("a JSON text that is cut short", '{"jsonrpc":"2.0","id":"t1","method":"ping"', "t1"),
    raw("an empty line", ""),
    raw("blanks only", " \t "),
    raw("a line that ends in CR LF", '{"jsonrpc":"2.0","id":"t2","method":"ping"}\r', "t2"),
    raw("a form feed before the message", '\f{"jsonrpc":"2.0","id":"t3","method":"ping"}', "t3"),
    raw("a byte order mark", '\ufeff{"jsonrpc":"2.0","id":"t4","method":"ping"}', "t4"),
    raw("bytes that are not UTF-8", b'{"jsonrpc":"2.0","id":"t5","method":"ping","x":"\xff"}', "t5"),
    raw("a lone surrogate", '{"jsonrpc":"2.0","id":"t6","method":"ping","x":"\\ud800"}', "t6"),
    raw("NaN", '{"jsonrpc":"2.0","id":"t7","method":"ping","params":{"x":NaN}}', "t7"),
    raw("1e999", '{"jsonrpc":"2.0","id":"t8","method":"ping","params":{"x":1e999}}', "t8"),
    raw("10,000 nested arrays", "[" * 10_000 + "]" * 10_000),
    raw("a key twice", '{"jsonrpc":"2.0","id":"t9","id":"t10","method":"ping"}', "t9", "t10"),
    raw("U+2028 inside a text", '{"jsonrpc":"2.0","id":"t11\u2028","method":"ping"}', "t11\u2028"),
    raw("two messages on a line", '{"jsonrpc":"2.0","id":"t12","method":"ping"}{}', "t12"),
    # -- the envelope
    say("null", None),
    say("a number", 5),
    say("a text", "ping"),
    say("an empty object", {}),
    say("an empty array", []),
    say("a batch of one ping", [request("e1", "ping")]),
    say("no jsonrpc", {"id": "e2", "method": "ping"}),
    say("jsonrpc 1.0", {"jsonrpc": "1.0", "id": "e3", "method": "ping"}),
    say("jsonrpc as a number", {"jsonrpc": 2.0, "id": "e4", "method": "ping"}),
    say("no method", {"jsonrpc": "2.0", "id": "e5"}),
    ask("a method that is a number", "e6", 5),
    ask("an empty method", "e7", ""),
    ask("a method of another case", "e8", "Ping"),
    ask("a method of the client's", "e9", "roots/list"),
    ask("an unknown method", "e10", "no/such"),
    say("a request with an unknown member", {**request("e11", "ping"), "extra": 1}),
    say("an unknown notification", notification("notifications/no/such")),
    say("a notification that is a request's", notification("tools/list")),
    ask("a request that is a notification's", "e12", "notifications/initialized"),
    # -- ids
    ask("the id 0", 0, "ping"),
    ask("the id -1", -1, "ping"),
    ask("an empty text as id", "", "ping"),
    ask("the id 2^53 + 1", 2**53 + 1, "ping"),
    ask("the id 2^70", 2**70, "ping"),
    ask("an emoji as id", "\U0001f600", "ping"),
    ask("the id null", None, "ping"),
    ask("the id true", True, "ping"),
    ask("the id 1.5", 1.5, "ping"),
    ask("the id 1.0", 1.0, "ping"),
    ask("an array as id", [], "ping"),
    ask("an object as id", {}, "ping"),
    ask("an id of 2,000 characters", "x" * 2000, "ping"),
    say("the same id twice, at once", request("i1", "ping"), request("i1", "ping")),
    say(
        "the same id twice, the first still served",
        request("i2", "tools/call", {"name": "wait", "arguments": {}}),
        request("i2", "tools/list"),
    ),
    # -- params
    say("params null", {**request("p1", "ping"), "params": None}),
    ask("params a list", "p2", "ping", []),
    ask("params a text", "p3", "tools/list", "x"),
    ask("_meta a list", "p4", "ping", {"_meta": []}),
    ask("a progress token that is an object", "p5", "ping", {"_meta": {"progressToken": {}}}),
    ask("a progress token that is a fraction", "p6", "ping", {"_meta": {"progressToken": 1.5}}),
    ask("tools/call without params", "p7", "tools/call"),
    ask("tools/call without a name", "p8", "tools/call", {"arguments": {}}),
    ask("tools/call with a number as name", "p9", "tools/call", {"name": 5}),
    ask("tools/call with a list of arguments", "p10", "tools/call", {"name": "add", "arguments": []}),
    call("an unknown tool", "p11", "no-such"),
    call("a tool without its arguments", "p12", "add"),
    call("a tool with an argument of the wrong type", "p13", "add", {"a": "x", "b": 2}),
    call("a tool", "p14", "add", {"a": 1, "b": 2}),
    call("a tool that fails", "p15", "fail"),
    ask("tools/list with an unknown cursor", "p16", "tools/list", {"cursor": "no-such"}),
    ask("tools/list with a number as cursor", "p17", "tools/list", {"cursor": 5}),
    ask("resources/list with an unknown cursor", "p18", "resources/list", {"cursor": "no-such"}),
    ask("resources/read of a resource", "p19", "resources/read", {"uri": "clock://now"}),
    ask("resources/read of an unknown resource", "p20", "resources/read", {"uri": "no://such"}),
    ask("resources/read of a URI that is none", "p21", "resources/read", {"uri": "nothing at all"}),
    ask("resources/read without a URI", "p22", "resources/read", {}),
    ask("resources/subscribe, which is not offered", "p23", "resources/subscribe", {"uri": "clock://now"}),
    ask("prompts/get", "p24", "prompts/get", {"name": "greet", "arguments": {"name": "Ada"}}),
    ask("prompts/get of an unknown prompt", "p25", "prompts/get", {"name": "no-such"}),
    ask("prompts/get without a required argument", "p26", "prompts/get", {"name": "greet"}),
    ask("prompts/get with a number as argument", "p27", "prompts/get", {"name": "greet", "arguments": {"name": 5}}),
    ask("completion/complete with an unknown kind of reference", "p28", "completion/complete", {"ref": {"type": "ref/no"}, "argument": {"name": "name", "value": "A"}}),
    ask("completion/complete without an argument", "p29", "completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}}),
    ask("completion/complete", "p30", "completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": "A"}}),
    ask("logging/setLevel, which is not offered", "p31", "logging/setLevel", {"level": "error"}),
    ask("tasks/list, which is not offered", "p32", "tasks/list"),
    ask("tasks/get of an unknown task", "p33", "tasks/get", {"taskId": "x"}),
    ask("tools/call that asks for a task", "p34", "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, "task": {}}),
    # -- order, answers, notifications
    initialize("initialize a second time", "o1"),
    say("notifications/initialized a second time", notification("notifications/initialized")),
    say("a result for nothing", result("o2", {})),
    say("an error for nothing", error("o3", -32603)),
    say("an error without an id", error(None, -32603)),
    say("a response with both", {"jsonrpc": "2.0", "id": "o4", "result": {}, "error": {"code": 1, "message": "m"}}),
    say("cancellation of nothing", notification("notifications/cancelled", {"requestId": "no-such"})),
    say("cancellation without a requestId", notification("notifications/cancelled", {})),
    say("cancellation with a list as requestId", notification("notifications/cancelled", {"requestId": []})),
    say("progress with nothing", notification("notifications/progress", {"progressToken": "x", "progress": 1})),
    say("progress that is a text", notification("notifications/progress", {"progressToken": "x", "progress": "1"})),
    say(
        "a request and its cancellation",
        request("o5", "tools/call", {"name": "wait", "arguments": {}}),
        notification("notifications/cancelled", {"requestId": "o5"}),
    ),
    ask("ping at the end", "last", "ping"),
)  # fmt: skip
