"""URI templates (RFC 6570), the plain kind, read backwards: from a URI to its variables."""

import re
from urllib.parse import unquote

__all__ = ["UriTemplate"]


class UriTemplate:
    """A template whose variables are written `{name}` (level 1), for matching.

    Matching takes time linear in the URI: each variable ends where the text behind it begins for
    the first time. So no two variables may stand side by side.

    Args:
        template: such as `notes://{user}/{number}`.

    Raises:
        ValueError: it has other expressions, such as `{+path}`, or two variables side by side, or
            one variable twice, or a brace alone.
    """

    def __init__(self, template: str) -> None:
        # Text, name, text, name, ..., text.
        parts = re.split(r"\{(\w+)\}", template)
        self._texts, self._names = parts[::2], parts[1::2]
        if any("{" in text or "}" in text for text in self._texts):
            raise ValueError(f"only plain variables can be matched, like {{name}}: {template!r}")
        if not all(self._texts[1:-1]):
            raise ValueError(f"two variables side by side cannot be told apart: {template!r}")
        if len(set(self._names)) < len(self._names):
            raise ValueError(f"a variable comes twice: {template!r}")

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI, decoded; None if it does not fit."""
        first, *texts = self._texts
        if not uri.startswith(first):
            return None
        if not texts:
            return {} if uri == first else None
        values = []
        start = len(first)
        for text in texts[:-1]:
            end = uri.find(text, start + 1)
            if end < 0:
                return None
            values.append(uri[start:end])
            start = end + len(text)
        end = len(uri) - len(texts[-1])
        if end <= start or not uri.endswith(texts[-1]):
            return None
        values.append(uri[start:end])
        if any("/" in value for value in values):
            return None
        return dict(zip(self._names, map(unquote, values), strict=True))
