"""Recorded conversations: NDJSON and back, and the script that tests compare with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansmcp import CLIENT, MISSING, SERVER, Transcript, TranscriptEntry, TranscriptError

from .conftest import shared_path
from .schema_data import JSON
from .support import error, notification, request, result

ENTRIES = st.builds(
    TranscriptEntry, st.sampled_from([CLIENT, SERVER]), JSON, time=st.none() | st.floats(0, 1e9)
) | st.builds(
    TranscriptEntry,
    st.sampled_from([CLIENT, SERVER]),
    raw=st.text(st.characters(exclude_categories=["Cs"])) | st.binary(),
)


def said(*messages):
    """A transcript of what the client said."""
    return Transcript([TranscriptEntry(CLIENT, message) for message in messages])


@given(st.lists(ENTRIES, max_size=5))
def test_ndjson_gives_back_what_was_written(entries):
    transcript = Transcript(entries)
    again = Transcript.from_ndjson(transcript.to_ndjson())
    assert again == transcript
    assert again.to_ndjson() == transcript.to_ndjson()


@given(
    st.binary(max_size=60) | JSON.map(lambda value: Transcript([TranscriptEntry(SERVER, value)]))
)
def test_what_was_recorded_is_what_is_fed_again(data):
    text = data if isinstance(data, bytes) else data.entries[0].text
    transcript = Transcript()
    transcript.record(SERVER, text)
    [entry] = Transcript.from_ndjson(transcript.to_ndjson())
    if entry.raw is None:
        again = Transcript()
        again.record(SERVER, entry.text)
        assert again == transcript
    else:
        assert (entry.text.encode() if isinstance(entry.text, str) else entry.text) == text


@pytest.mark.parametrize("depth", [100, 400, 700, 2000])
def test_whatever_could_be_recorded_can_be_saved(depth):
    transcript = Transcript()
    transcript.record(CLIENT, b"[" * depth + b"]" * depth)
    assert Transcript.from_ndjson(transcript.to_ndjson()) == transcript


@pytest.mark.parametrize("text", ["\ud800", b"\xff", b"\xed\xa0\x80", '"\\ud800"', "", b""])
def test_text_that_is_no_json_is_recorded(text):
    transcript = Transcript()
    transcript.record(CLIENT, text)
    [entry] = Transcript.from_ndjson(transcript.to_ndjson())
    assert entry.message is MISSING
    again = entry.text.encode() if isinstance(entry.text, str) else entry.text
    assert again == (text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


def test_a_file_is_saved_and_loaded(tmp_path):
    transcript = said(request(1, "ping"), notification("x"))
    transcript.save(tmp_path / "one.ndjson")
    assert Transcript.load(str(tmp_path / "one.ndjson")) == transcript


@pytest.mark.parametrize("name", ["everything-2025-11-25", "everything-tasks-2025-11-25"])
def test_the_recorded_conversations_load(name):
    transcript = Transcript.load(shared_path("transcripts", f"{name}.ndjson"))
    assert str(transcript).splitlines()[0].startswith("client: initialize #")
    assert all(entry.raw is None for entry in transcript)
    assert Transcript.from_ndjson(transcript.to_ndjson()) == transcript


def test_unknown_members_survive():
    line = b'{"from":"client","time":1.5,"message":null,"pid":7}\n'
    [entry] = transcript = Transcript.from_ndjson(line)
    assert (entry.message, entry.time, entry.extra) == (None, 1.5, {"pid": 7})
    assert Transcript.from_ndjson(transcript.to_ndjson()) == transcript


def test_blank_lines_and_line_ends_of_windows_are_passed_over():
    assert len(Transcript.from_ndjson('\r\n{"from":"server","message":1}\r\n\n')) == 1


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("nonsense", "no JSON"),
        ("[]", "no JSON object"),
        ('{"message": 1}', '"from" is neither'),
        ('{"from": "proxy", "message": 1}', '"from" is neither'),
        ('{"from": ["client"], "message": 1}', '"from" is neither'),
        ('{"from": "client"}', "expected one of"),
        ('{"from": "client", "message": 1, "text": "1"}', "expected one of"),
        ('{"from": "client", "text": 1}', '"text" is no string'),
        ('{"from": "client", "base64": "?"}', '"base64" is no base64'),
        ('{"from": "client", "message": 1, "time": "now"}', '"time" is no number'),
        ('{"from": "client", "message": 1, "time": true}', '"time" is no number'),
        ("\ud800", "no JSON"),
    ],
)
def test_what_is_no_transcript_is_refused_with_its_line(line, detail):
    text = '{"from":"client","message":{}}\n\n' + line
    with pytest.raises(TranscriptError, match=detail) as caught:
        Transcript.from_ndjson(text)
    assert caught.value.line == 3
    assert str(caught.value).startswith("line 3: ")


def test_an_entry_has_a_message_or_what_was_said_instead():
    with pytest.raises(ValueError, match="either"):
        TranscriptEntry(CLIENT)
    with pytest.raises(ValueError, match="either"):
        TranscriptEntry(CLIENT, None, "text")


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (request(1, "ping"), "ping #1"),
        (request("a", "ping", {}), "ping #a {}"),
        (request("1", "ping"), 'ping #"1"'),
        (request(None, "ping"), "ping #null"),
        (
            request(1, "tools/call", {"name": "echo", "arguments": {"text": "hi"}}),
            'tools/call #1 name=echo arguments={"text":"hi"}',
        ),
        (notification("x", {"a b": "true", "c": True}), 'x "a b"="true" c=true'),
        (request(1, "result"), '"result" #1'),
        (request(1, "x", {"protocolVersion": "2025-11-25"}), "x #1 protocolVersion=2025-11-25"),
        (result(1, {}), "result #1"),
        (result(1, {"content": []}), "result #1 content=[]"),
        (error(1, -32601, "Unknown: x"), 'error #1 -32601 "Unknown: x"'),
        (error(1, 0, "no", data=[1]), 'error #1 0 "no" data=[1]'),
        ({"jsonrpc": "2.0", "error": {"code": 1, "message": ""}}, 'error 1 ""'),
        # What is no such message is shown to the letter.
        ({"method": "ping", "id": 1}, 'message {"method":"ping","id":1}'),
        ({**request(1, "ping"), "x": 1}, 'message {"jsonrpc":"2.0","id":1,"method":"ping","x":1}'),
        (request(1, "ping", [1]), 'message {"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}'),
        (result(1, None), 'message {"jsonrpc":"2.0","id":1,"result":null}'),
        ({"jsonrpc": "2.0", "result": {}}, 'message {"jsonrpc":"2.0","result":{}}'),
        ([], "message []"),
        (7, "message 7"),
    ],
)
def test_a_message_is_one_line_of_the_script(message, line):
    assert said(message) == f"client: {line}"


def test_what_is_no_json_is_in_the_script():
    transcript = Transcript()
    transcript.record(CLIENT, "some\nwords")
    transcript.record(SERVER, b"\xff")
    assert (
        transcript
        == r"""
        client: text "some\nwords"
        server: bytes b'\xff'
    """
    )


def test_a_batch_is_a_line_for_each_of_its_messages():
    assert (
        said([request(1, "ping"), notification("x")])
        == """
        client (1 of 2): ping #1
        client (2 of 2): x
    """
    )


def test_the_script_has_times_if_asked():
    transcript = Transcript(
        [TranscriptEntry(CLIENT, request(1, "ping"), time=0.25), TranscriptEntry(SERVER, 1)]
    )
    assert transcript.script(times=True) == "    0.250 client: ping #1\nserver: message 1"


def test_layout_does_not_count_and_content_does():
    transcript = said(request(1, "ping"), notification("x", {"y": "a\u2028b"}))
    assert transcript == 'client: ping #1  \r\n\n\tclient: x y="a\u2028b"'
    assert transcript != "client: ping #1"
    assert transcript != "client: ping #2\nclient: x"
    assert transcript != 7
    assert transcript != said(request(1, "ping"))


@given(JSON, JSON)
def test_different_messages_are_different_lines(one, other):
    # 1 and 1.0 are one number to JSON and to Python, and two spellings.
    if str(said(one)) == str(said(other)):
        assert one == other
