"""Every exception that ptc raises on purpose.

    PtcError                 has .code, .message, .details, .retryable, .category
    ├── ConfigError          the host is wrong: limits, policy, tools, options, sources. Raised before anything runs
    ├── ToolError            one call was refused or failed; what a script catches and what host helpers raise
    ├── ProtocolError        the other side of a VM socket broke the protocol; the process behind it is killed
    ├── WorkerError          the VM process could not be started or locked down
    └── SessionClosed        the session was closed before or while the call ran

Each error says what was given, which rule it broke and what would be accepted; `.code` is stable and stands in
`ptc/codes.py`. This module imports only that table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptc.codes import code_facts

__all__ = ["ConfigError", "ProtocolError", "PtcError", "SessionClosed", "ToolError", "WorkerError"]

MESSAGE_CAP = 2_000


class PtcError(Exception):
    """Base of every error of ptc.

    code: stable identifier from `ptc.codes.CODES` (a tool author may use an own one).
    message: one text for a person or a model; capped at 2,000 characters.
    details: JSON facts for a program (never needed to understand the message); None means none.
    retryable, category: taken from the table unless given.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retryable: bool | None = None,
        category: str | None = None,
    ) -> None:
        facts = code_facts(code)
        if len(message) > MESSAGE_CAP:
            message = f"{message[: MESSAGE_CAP - 40]}… ({len(message)} characters in all)"
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: dict[str, Any] = dict(details) if details else {}
        self.retryable = facts.retryable if retryable is None else retryable
        self.category = facts.category if category is None else category

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.code, self.message, self.details, self.retryable, self.category))


def _rebuild(
    kind: type[PtcError], code: str, message: str, details: dict[str, Any], retryable: bool, category: str
) -> PtcError:
    return kind(code, message, details=details, retryable=retryable, category=category)


class ConfigError(PtcError, ValueError):
    """What the host configured cannot be used; raised at construction, before anything runs."""


class ToolError(PtcError):
    """One call was refused or failed. Tools raise it to fail with a typed error; scripts catch it as `ToolError`."""


class ProtocolError(PtcError):
    """A frame from the other side of a VM socket broke the protocol."""

    def __init__(self, message: str) -> None:
        super().__init__("program_crashed", message)

    def __reduce__(self) -> tuple[Any, ...]:
        return (ProtocolError, (self.message,))


class WorkerError(PtcError):
    """The VM process could not be started or locked down as the host demands."""


class SessionClosed(PtcError):
    """The session was closed; open a new one. Calls that ran were cancelled."""

    def __init__(self, message: str = "the session is closed; open a new Session to go on") -> None:
        super().__init__("session_closed", message)

    def __reduce__(self) -> tuple[Any, ...]:
        return (SessionClosed, (self.message,))
