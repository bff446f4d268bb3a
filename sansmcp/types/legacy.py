"""Names that older revisions of the schema have and this one has not, or no more under that name."""

from typing import TypeAlias

import attrs

from .base import Model
from .completion import ResourceTemplateReference
from .content import Annotations
from .jsonrpc import JSONRPCErrorResponse, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

__all__ = [
    "Annotated",
    "JSONRPCBatchRequest",
    "JSONRPCBatchResponse",
    "JSONRPCError",
    "ResourceReference",
]


@attrs.frozen(repr=False)
class Annotated(Model):
    """What has annotations (2024-11-05)."""

    annotations: Annotations | None = None


#: Several requests and notifications in one message (2025-03-26).
JSONRPCBatchRequest: TypeAlias = tuple[JSONRPCRequest | JSONRPCNotification, ...]
#: Their answers in one message (2025-03-26).
JSONRPCBatchResponse: TypeAlias = tuple[JSONRPCResponse, ...]
#: Until 2025-06-18; `id` was required then.
JSONRPCError: TypeAlias = JSONRPCErrorResponse
#: Until 2025-03-26.
ResourceReference: TypeAlias = ResourceTemplateReference
