"""What single methods ask of a conversation, beyond what all messages have in common.

Tables by method: `CHECK_REQUEST` and `CHECK_RESULT`, `REQUEST_SENT` and `RESULT_ANSWERED`. A check
looks and changes nothing; an effect is applied once the message is known to be in order. Neither knows which side
"we" are: both ends run the same functions on the same messages.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from . import elicitation, sampling
from . import types as t
from .errors import INTERNAL_ERROR, URL_ELICITATION_REQUIRED, StructureError, shortened
from .requests import RequestInFlight
from .rules import Broken
from .state import ConversationState
from .wire import structure

__all__ = [
    "CHECK_REQUEST",
    "CHECK_RESULT",
    "REQUEST_SENT",
    "RESULT_ANSWERED",
    "TASKS_IN",
    "SchemaValidator",
    "check_error",
    "error_answered",
    "filtered",
    "given_up",
    "unasked",
]

SchemaValidator = Callable[[t.JSONObject, t.JSONValue], str | None]
"""Given a JSON Schema and a value: what is wrong with the value, in one sentence, or None.

Both may come from a peer. What it raises counts as a value that does not fit.
"""


# ---- requests: check and effect


def _check_elicit(state: ConversationState, params: Any) -> Iterator[Broken]:
    mode = "url" if isinstance(params, t.ElicitRequestURLParams) else "form"
    if f"elicitation.{mode}" not in state.client.declared:
        yield Broken("ELIC-10", f"the client has not declared elicitation in {mode} mode")
    if mode == "url" and params.elicitation_id in state.elicitations:
        detail = f"the elicitation {shortened(params.elicitation_id)} is open already"
        yield Broken("ELIC-19", detail, None)
    yield from elicitation.check_request(params)


def _check_create_message(state: ConversationState, params: Any) -> Iterator[Broken]:
    declared = state.client.declared
    if (params.tools is not None or params.tool_choice is not None) and (
        "sampling.tools" not in declared
    ):
        yield Broken("SAMP-06", "the client has not declared sampling.tools")
    knows_context = state.revision is None or state.revision.name >= "2025-11-25"
    if (
        params.include_context not in (None, "none")
        and knows_context
        and "sampling.context" not in declared
    ):
        yield Broken(
            "SAMP-09",
            f"includeContext {params.include_context!r} without the capability sampling.context",
        )
    yield from sampling.check_messages(params.messages)


def _check_subscribe(state: ConversationState, params: Any) -> Iterator[Broken]:
    full = state.full_of_subscriptions(params.uri)
    if full is not None:
        yield Broken("LIMIT-01", full, INTERNAL_ERROR)


def _check_unsubscribe(state: ConversationState, params: Any) -> Iterator[Broken]:
    if params.uri not in state.subscriptions:
        yield Broken("RES-05", f"no subscription to {shortened(params.uri)}", None)


def _initialize_sent(state: ConversationState, params: Any) -> None:
    state.client.introduce(params.client_info, params.capabilities, params.protocol_version)


def _elicit_sent(state: ConversationState, params: Any) -> None:
    if isinstance(params, t.ElicitRequestURLParams):
        state.remember_elicitation(params.elicitation_id)


def _unsubscribe_sent(state: ConversationState, params: Any) -> None:
    state.unsubscribe(params.uri)


def _subscribe_sent(state: ConversationState, params: Any) -> None:
    state.subscribe(params.uri)


# ---- results


def _initialize_answered(state: ConversationState, params: Any, result: Any) -> None:
    state.server.introduce(result.server_info, result.capabilities, result.protocol_version)
    state.instructions = result.instructions
    state.agree_on(result.protocol_version)


def _set_level_answered(state: ConversationState, params: Any, result: Any) -> None:
    state.log_level = params.level


def _subscribe_answered(state: ConversationState, params: Any, result: Any) -> None:
    # Once more: an unsubscription that was under way may have been answered since it was sent.
    state.subscribe(params.uri)


def _unsubscribe_answered(state: ConversationState, params: Any, result: Any) -> None:
    # Updates that the server sent before it knew have arrived by now.
    state.leaving.discard(params.uri)


def _list_tools_answered(state: ConversationState, params: Any, result: Any) -> None:
    state.learn_tools(result, first_page=params is None or params.cursor is None)


def _check_call_result(
    state: ConversationState, params: Any, result: Any, validate: SchemaValidator | None
) -> Iterable[Broken]:
    tool = state.tools.get(params.name)
    # a result that reports an error need not fit the schema.
    if tool is None or tool.output_schema is None or result.is_error:
        return ()
    name = shortened(params.name)
    if result.structured_content is None:
        detail = f"{name} has an outputSchema and gave no structuredContent"
        return (Broken("TOOL-22", detail, None),)
    if validate is None:
        return ()
    try:
        problem = validate(tool.output_schema, result.structured_content)
    except Exception as error:
        # Both the schema and the value may be a peer's, who may have made them to that end.
        problem = f"the validator failed with {type(error).__name__}"
    if problem is None:
        return ()
    return (Broken("TOOL-22", f"structuredContent of {name}: {problem}"),)


def _check_sample(
    state: ConversationState, params: Any, result: Any, validate: SchemaValidator | None
) -> Iterator[Broken]:
    return sampling.check_result(params, result)


def _check_elicit_result(
    state: ConversationState, params: Any, result: Any, validate: SchemaValidator | None
) -> Iterator[Broken]:
    return elicitation.check_result(params, result)


#: Method -> the rules of its own that a request of it breaks.
CHECK_REQUEST: Final[Mapping[str, Callable[[ConversationState, Any], Iterable[Broken]]]] = {
    "elicitation/create": _check_elicit,
    "sampling/createMessage": _check_create_message,
    "resources/subscribe": _check_subscribe,
    "resources/unsubscribe": _check_unsubscribe,
}
#: Method -> what changes when a request of it that is in order was sent.
REQUEST_SENT: Final[Mapping[str, Callable[[ConversationState, Any], None]]] = {
    "initialize": _initialize_sent,
    "elicitation/create": _elicit_sent,
    "resources/subscribe": _subscribe_sent,
    "resources/unsubscribe": _unsubscribe_sent,
}
#: Method of the request -> the rules that a result breaks.
CHECK_RESULT: Final[
    Mapping[str, Callable[[ConversationState, Any, Any, SchemaValidator | None], Iterable[Broken]]]
] = {
    "tools/call": _check_call_result,
    "sampling/createMessage": _check_sample,
    "elicitation/create": _check_elicit_result,
}
#: Method of the request -> what changes when it was answered with a result that is in order.
RESULT_ANSWERED: Final[Mapping[str, Callable[[ConversationState, Any, Any], None]]] = {
    "initialize": _initialize_answered,
    "logging/setLevel": _set_level_answered,
    "resources/subscribe": _subscribe_answered,
    "resources/unsubscribe": _unsubscribe_answered,
    "tools/list": _list_tools_answered,
}
#: Class of a result -> every task that it tells of.
TASKS_IN: Final[Mapping[type[t.Result], Callable[[Any], Iterable[Any]]]] = {
    t.CreateTaskResult: lambda result: (result.task,),
    t.GetTaskResult: lambda result: (result,),
    t.CancelTaskResult: lambda result: (result,),
    t.ListTasksResult: lambda result: result.tasks,
}


# ---- errors


def check_error(state: ConversationState, error: t.Error) -> Iterator[Broken]:
    """The rules that an error breaks, whichever request it answers (ELIC-28 to ELIC-30)."""
    if error.code != URL_ELICITATION_REQUIRED:
        return
    if state.revision is not None and not state.revision.url_elicitation:
        detail = f"error {error.code} is not in revision {state.revision.name}"
        yield Broken("LIFE-14", detail, None)
        return
    try:
        elicitations = _required_elicitations(error)
    except StructureError as problem:
        yield Broken("ELIC-29", f"error {error.code}: {problem}", None)
        return
    if not elicitations:
        yield Broken("ELIC-29", f"error {error.code} names no elicitation", None)
    if "elicitation.url" not in state.client.declared:
        yield Broken("ELIC-10", "the client has not declared elicitation in url mode", None)


def error_answered(state: ConversationState, request: RequestInFlight, error: t.Error) -> None:
    """A request was answered with an error."""
    if request.method.method == "resources/subscribe":
        state.forget_subscription(request.request.params.uri)
    given_up(state, request)
    if error.code == URL_ELICITATION_REQUIRED:
        try:
            for params in _required_elicitations(error):
                state.remember_elicitation(params.elicitation_id)
        except StructureError:
            pass  # `check_error` has reported it.


def _required_elicitations(error: t.Error) -> tuple[t.ElicitRequestURLParams, ...]:
    data = {} if error.data is t.MISSING else error.data
    return structure(data, t.URLElicitationRequiredErrorData, at="error.data").elicitations


def given_up(state: ConversationState, request: RequestInFlight) -> None:
    """A request has ended without a result."""
    if request.method.method == "resources/unsubscribe":
        state.stay(request.request.params.uri)


# ---- notifications


def filtered(state: ConversationState, method: str, params: Any) -> bool:
    """Whether a notification is not to be sent because the other party has not asked for it."""
    if method == "notifications/message":
        return not state.logs(params.level)
    if method == "notifications/resources/updated":
        return not state.subscribed(params.uri)
    return False


def unasked(state: ConversationState, method: str, params: Any) -> Broken | None:
    """The rule that a notification breaks which its receiver has not asked for, if it breaks one.

    A log message below the level is none: LOG-03 says what is sent, not what is not.
    """
    if method == "notifications/resources/updated" and not state.subscribed(
        params.uri, or_leaving=True
    ):
        return Broken("RES-06", f"no subscription to {shortened(params.uri)}", None)
    return None
