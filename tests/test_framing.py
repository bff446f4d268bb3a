"""Newline framing: what comes out, and what it costs."""

import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sansmcp import framing
from sansmcp.framing import LineFramer, Oversized, frame

MIB = 2**20


def chunked(data, size):
    return (data[start : start + size] for start in range(0, len(data), size))


def read(chunks, limit=MIB):
    """All that a framer says of a stream, its unfinished line last."""
    framer = LineFramer(limit)
    results = [result for chunk in chunks for result in framer.receive_data(chunk)]
    return results, framer.receive_eof()


# ---- lines


@pytest.mark.rule("STDIO-02")
def test_stdio_02_a_line_is_a_message():
    assert read([b'{"a":1}\n{"b":2}\n']) == ([b'{"a":1}', b'{"b":2}'], None)


def test_a_line_is_given_as_soon_as_it_ends():
    framer = LineFramer(MIB)
    assert framer.receive_data(b'{"a":') == []
    assert framer.receive_data(b"1}") == []
    assert framer.receive_data(b'\n{"b"') == [b'{"a":1}']
    assert framer.buffered == 4


@pytest.mark.rule("H02")
def test_crlf_and_blank_lines_are_passed_over():
    stream = b'\n\r\n{"a":1}\r\n \t \n\n  {"b":2} \r\n'
    assert read([stream]) == ([b'{"a":1}', b'{"b":2}'], None)


@pytest.mark.rule("H03")
@pytest.mark.parametrize(
    "inside",
    ["\u2028", "\u2029", "\u0085", "\f", "\v", "\0", "\x1c", "\r", "\N{ROCKET}", "\\n"],
    ids=ascii,
)
def test_lines_end_at_lf_only(inside):
    text = f'"a{inside}b"'.encode()
    assert read([text + b"\n" + text + b"\n"]) == ([text, text], None)


@pytest.mark.rule("H03")
def test_a_line_of_form_feeds_is_not_blank():
    assert read([b"\f\n\v\n"]) == ([b"\f", b"\v"], None)


@pytest.mark.rule("H02")
def test_a_character_cut_in_two_is_put_together():
    text = '"é\N{ROCKET}"'.encode()
    assert read(chunked(text + b"\n", 1)) == ([text], None)


# ---- end of file


@pytest.mark.rule("H07")
def test_eof_gives_the_unfinished_line():
    assert read([b'{"a":1}\n{"b"']) == ([b'{"a":1}'], b'{"b"')


@pytest.mark.parametrize("stream", [b"", b"1\n", b"1\n\r", b"1\n \t"])
def test_eof_after_a_whole_line_leaves_nothing(stream):
    assert read([stream])[1] is None


def test_eof_ends_a_line_that_is_too_long():
    assert read([b"123", b"456"], limit=4) == ([], Oversized(6))


def test_eof_is_told_once():
    framer = LineFramer(4)
    framer.receive_data(b"12")
    assert framer.receive_eof() == b"12"
    assert framer.receive_eof() is None


# ---- lines that are too long


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_limit_counts_bytes_without_the_newline(size):
    stream = b"1234\n12345\n1\n"
    assert read(chunked(stream, size), limit=4) == ([b"1234", Oversized(5), b"1"], None)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_limit_counts_a_carriage_return(size):
    stream = b"123\r\n1234\r\n1\r\n"
    assert read(chunked(stream, size), limit=4) == ([b"123", Oversized(5), b"1"], None)


def test_a_long_line_in_the_same_chunk_as_its_neighbours_keeps_its_place():
    assert read([b"1\n", b"23\n45", b"6789\n0\n"], limit=4) == (
        [b"1", b"23", Oversized(6), b"0"],
        None,
    )


def test_nothing_of_a_line_is_held_once_it_is_too_long():
    framer = LineFramer(4)
    framer.receive_data(b"1234")
    assert framer.buffered == 4
    framer.receive_data(b"5")
    assert framer.buffered == 0
    assert framer.receive_data(b"6\n7") == [Oversized(6)]
    assert framer.buffered == 1


# ---- any chunking

# Bytes that mean something to the framer, so that short streams meet every branch.
streams = st.lists(st.sampled_from([b"\n", b"\r", b" ", b"a", b"bc", b"\xff"])).map(b"".join)


@st.composite
def streams_in_chunks(draw):
    stream = draw(streams)
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)))))
    return [stream[i:j] for i, j in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@pytest.mark.rule("H02")
@given(streams_in_chunks(), st.integers(1, 6))
@example([b"1234", b"5", b"\n", b"6\n"], 4)
def test_any_chunking_gives_what_the_whole_gives(chunks, limit):
    assert read(chunks, limit) == read([b"".join(chunks)], limit)


@given(streams, st.integers(1, 6))
def test_every_line_is_given_or_reported_or_blank(stream, limit):
    *lines, rest = [
        Oversized(len(line)) if len(line) > limit else line.strip(b" \t\r")
        for line in stream.split(b"\n")
    ]
    assert read([stream], limit) == ([line for line in lines if line], rest or None)


@given(streams_in_chunks(), st.integers(1, 6))
def test_the_buffer_never_outgrows_the_limit(chunks, limit):
    framer = LineFramer(limit)
    for chunk in chunks:
        framer.receive_data(chunk)
        assert framer.buffered <= limit


# ---- what it costs


class CountingBuffer(bytearray):
    """Counts the bytes that are touched: those appended, and the whole of it for all else."""

    touched = 0

    def __iadd__(self, other):  # type: ignore[misc]
        CountingBuffer.touched += len(other)
        return super().__iadd__(other)

    def __getattribute__(self, name):
        CountingBuffer.touched += len(self)
        return super().__getattribute__(name)

    def __getitem__(self, key):
        CountingBuffer.touched += len(self)
        return super().__getitem__(key)

    def __delitem__(self, key):
        CountingBuffer.touched += len(self)
        super().__delitem__(key)

    def __contains__(self, key):
        CountingBuffer.touched += len(self)
        return super().__contains__(key)

    def __bytes__(self):
        CountingBuffer.touched += len(self)
        return bytes(memoryview(self))


@pytest.mark.parametrize("size", [1, 64, 4096])
def test_each_byte_is_touched_a_fixed_number_of_times(size, monkeypatch):
    monkeypatch.setattr(framing, "bytearray", CountingBuffer, raising=False)
    monkeypatch.setattr(CountingBuffer, "touched", 0)
    line = b"x" * 100_000
    lines, rest = read(chunked(line + b"\n" + line + b"\n", size))
    assert lines == [line, line]
    assert rest is None
    assert len(line) <= CountingBuffer.touched <= 4 * 2 * len(line)


# These end in moments, or in hours if a byte were touched again for every chunk or every line.


@pytest.mark.parametrize("size", [1, 64, 65536])
def test_a_line_of_ten_mebibytes_in_small_chunks(size):
    line = b"x" * (10 * MIB)
    assert read(chunked(line + b"\n", size), limit=16 * MIB) == ([line], None)


def test_a_million_lines_in_one_chunk():
    lines, rest = read([b'{"jsonrpc":"2.0","method":"x"}\n' * 1_000_000])
    assert len(lines) == 1_000_000
    assert rest is None


@pytest.mark.rule("H06")
def test_a_line_of_thirty_mebibytes_takes_no_more_memory_than_the_limit():
    framer = LineFramer(MIB)
    chunk = b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(30 * 16):
            framer.receive_data(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The list's spare room is an eighth at most, and a grown buffer may be moved.
    assert peak < 3 * MIB
    assert framer.receive_data(b"\n{}\n") == [Oversized(30 * MIB), b"{}"]


# ---- output


@pytest.mark.rule("STDIO-02")
def test_stdio_02_a_frame_is_one_line():
    assert frame(b'{"a":1}') == b'{"a":1}\n'
    assert read([frame(b"1"), frame(b"2")]) == ([b"1", b"2"], None)


@pytest.mark.rule("STDIO-02")
def test_stdio_02_a_newline_inside_a_message_is_refused():
    with pytest.raises(ValueError, match="STDIO-02"):
        frame(b'{\n"a":1}')
