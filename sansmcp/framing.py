"""Bytes to message texts and back, where a newline ends each message (basic/transports, STDIO-02).

Transports that keep messages apart by themselves (a websocket, HTTP) need nothing of this.
"""

from typing import Final

import attrs

__all__ = ["LineFramer", "Oversized", "frame"]

# What JSON allows around a value. `bytes.isspace` would take form feeds and vertical tabs as well,
# and a line of those is not blank but wrong.
_BLANKS: Final = b" \t\r"
_BLANKS_AND_LF: Final = _BLANKS + b"\n"


@attrs.frozen
class Oversized:
    """Stands in the place of a line that was too long; the line itself was not kept.

    Attributes:
        size: how long it was, in bytes, without its newline.
    """

    size: int


class LineFramer:
    r"""Cuts a stream of bytes into lines, in time linear in the bytes and in bounded memory.

    Lines end at LF only: U+2028, form feed and the like are part of the text. Blanks around a line
    are cut, so that `\r\n` is as good as `\n`, and blank lines are passed over.

    A line that is too long is reported where it ends, not where it passes the limit. Only then is
    its size known, and the same whatever the chunks were. One that never ends takes no memory.

    Args:
        max_message_size: bytes that a line may have, blanks included, its newline not.
    """

    # Only new bytes are ever searched, since there is no newline in what is kept. `_size` counts
    # the unfinished line so far; the buffer holds it, or nothing once it has grown too long.

    def __init__(self, max_message_size: int) -> None:
        self._max_message_size = max_message_size
        self._buffer = bytearray()
        self._size = 0

    @property
    def buffered(self) -> int:
        """Bytes of the unfinished line that are held: never more than `max_message_size`."""
        return len(self._buffer)

    def receive_data(self, data: bytes) -> list[bytes | Oversized]:
        """Take what was read, cut anywhere.

        Returns:
            The lines that ended in it, in order; any chunking of the same bytes gives the same.
        """
        end = data.find(b"\n")
        if end < 0:  # the common case of a long line in small chunks
            self._keep(data)
            return []
        if end == len(data) - 1 <= self._max_message_size and not self._size:
            line = data.strip(_BLANKS_AND_LF)  # the common case of one whole line
            return [line] if line else []
        *lines, rest = data.split(b"\n")
        results: list[bytes | Oversized] = []
        for line in lines:
            if self._size:
                self._keep(line)
                result = self._take()
            elif len(line) > self._max_message_size:
                result = Oversized(len(line))
            else:
                result = line.strip(_BLANKS)
            if result:
                results.append(result)
        self._keep(rest)
        return results

    def receive_eof(self) -> bytes | Oversized | None:
        """Take the end of the stream.

        Returns:
            The line that was left unfinished: a message cut short. None if the last one was whole.
        """
        return self._take() or None

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._max_message_size:
            self._buffer.clear()
        else:
            self._buffer += part

    def _take(self) -> bytes | Oversized:
        size, self._size = self._size, 0
        if size > self._max_message_size:
            return Oversized(size)
        line = bytes(self._buffer).strip(_BLANKS)
        self._buffer.clear()
        return line


def frame(message: bytes) -> bytes:
    """Make a line of a message.

    Args:
        message: JSON text in UTF-8, on one line.

    Raises:
        ValueError: there is a newline in it (STDIO-02). JSON never needs one: within strings it is
            written as an escape, and between values it can be left out.
    """
    if b"\n" in message:
        raise ValueError("a newline inside a message would end it (STDIO-02); write compact JSON")
    return message + b"\n"
