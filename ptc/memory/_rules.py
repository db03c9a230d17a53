"""What may be stored: the caps of every text, the quota of a scope, and the refusals that name them.

Every bound is here, so that the text of a tool, a refusal and a test speak of the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ptc.errors import ConfigError, ToolError
from ptc.memory.text import require_text
from ptc.values import dumps, loads, show, utf8_cut

__all__ = [
    "MAX_CONTENT_BYTES",
    "MAX_LIMIT",
    "MAX_MESSAGE_BYTES",
    "Clean",
    "Quota",
    "Usage",
    "both",
    "category_list",
    "clamped",
    "content_text",
    "message_text",
    "metadata_object",
    "name_text",
    "option_text",
    "summary_text",
]

MAX_CONTENT_BYTES: Final = 8 * 1024
MAX_SUMMARY_BYTES: Final = 1024
MAX_CATEGORIES: Final = 16
MAX_CATEGORY_BYTES: Final = 128
MAX_METADATA_BYTES: Final = 4 * 1024
MAX_MESSAGE_BYTES: Final = 64 * 1024
MAX_NAME_BYTES: Final = 256
MAX_LIMIT: Final = 50

Clean = Callable[[str], str]


@dataclass(slots=True, frozen=True)
class Quota:
    """What one scope may hold. A memory over it is refused; for a message over it the oldest ones go.

    memories 100,000 with together memory_bytes 64 MiB; messages 100,000 with together message_bytes 64 MiB.
    Raises ConfigError `invalid_option` for a bound that is no integer or below 1.
    """

    memories: int = 100_000
    memory_bytes: int = 64 * 1024**2
    messages: int = 100_000
    message_bytes: int = 64 * 1024**2

    def __post_init__(self) -> None:
        for name in ("memories", "memory_bytes", "messages", "message_bytes"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(
                    "invalid_option", f"quota {name} must be an integer of 1 or more; {value!r:.40} was given."
                )

    def admit_memories(self, used: Usage) -> None:
        """Raise ToolError `memory_full` if a scope that holds this much would be over the quota."""
        if used.memories > self.memories or used.memory_bytes > self.memory_bytes:
            raise ToolError(
                "memory_full",
                f"nothing was stored: there would be {used.memories:,} memories with {used.memory_bytes:,} bytes, and "
                f"the quota is {self.memories:,} with {self.memory_bytes:,}. The host has to delete some or raise it.",
                details={"memories": self.memories, "memory_bytes": self.memory_bytes},
            )


@dataclass(slots=True, frozen=True)
class Usage:
    """What one scope holds: numbers, and bytes as they are counted for the quota (UTF-8)."""

    memories: int = 0
    memory_bytes: int = 0
    messages: int = 0
    message_bytes: int = 0


def option_text(what: str, value: object) -> str:
    """A name that the host chose: text, not blank, at most 256 bytes. Raises ConfigError `invalid_option`."""
    try:
        return require_text(value, what, MAX_NAME_BYTES)
    except ToolError as error:
        raise ConfigError("invalid_option", f"{error.message} For example 'user:ada'.") from None


def name_text(what: str, value: object) -> str:
    """An id: text, not blank, at most 256 bytes. Raises like `require_text`."""
    return require_text(value, what, MAX_NAME_BYTES)


def content_text(value: object, clean: Clean) -> str:
    return _cleaned_text(value, "content", MAX_CONTENT_BYTES, clean)


def summary_text(value: object, clean: Clean) -> str:
    return "" if value == "" else _cleaned_text(value, "summary", MAX_SUMMARY_BYTES, clean)


def _cleaned_text(value: object, what: str, max_bytes: int, clean: Clean) -> str:
    """The caps hold for what is stored too, because cleaning may lengthen a text."""
    return require_text(clean(require_text(value, what, max_bytes)), what, max_bytes)


def category_list(given: Iterable[object], clean: Clean) -> tuple[str, ...]:
    """The labels, each once, in the order in which they were given."""
    if isinstance(given, str):
        raise ToolError("invalid_arguments", f"categories is a list of labels, such as [{show(given, 40)}].")
    labels = tuple(dict.fromkeys(_cleaned_text(label, "a category", MAX_CATEGORY_BYTES, clean) for label in given))
    if len(labels) > MAX_CATEGORIES:
        raise ToolError(
            "memory_too_large",
            f"{len(labels)} categories were given; at most {MAX_CATEGORIES} are accepted. Keep the general ones.",
        )
    return labels


def metadata_object(given: Mapping[str, Any], clean: Clean) -> dict[str, Any]:
    """A copy of the facts, each text in them cleaned, that shares nothing with the caller's."""
    if not isinstance(given, Mapping):
        raise ToolError("invalid_arguments", f"metadata must be an object; a {type(given).__name__} was given.")
    cleaned: dict[str, Any] = _cleaned(loads(_metadata_json(dict(given))), clean)
    _metadata_json(cleaned)
    return cleaned


def _metadata_json(facts: dict[str, Any]) -> bytes:
    try:
        text = dumps(facts)
    except ValueError as error:
        raise ToolError("invalid_arguments", f"metadata is not JSON: {show(str(error), 200)}") from None
    if len(text) > MAX_METADATA_BYTES:
        raise ToolError(
            "memory_too_large",
            f"metadata has {len(text):,} bytes as JSON; at most {MAX_METADATA_BYTES:,} are accepted. Keep a reference.",
        )
    return text


def _cleaned(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(item, clean) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in value]
    return value


def message_text(value: object, clean: Clean) -> str:
    """A message as it is kept: halves of surrogate pairs replaced, cleaned, cut at 64 KiB with a mark that says so."""
    if not isinstance(value, str):
        raise ToolError("invalid_arguments", f"content must be text; a {type(value).__name__} was given.")
    text = clean(value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    kept = utf8_cut(text, MAX_MESSAGE_BYTES)
    return text if len(kept) == len(text) else f"{kept}… ({len(text) - len(kept):,} more characters were not kept)"


def clamped(limit: int) -> int:
    """A number of results that was asked for, brought into 1 to 50."""
    return max(1, min(MAX_LIMIT, int(limit)))


def both(first: Clean, second: Clean) -> Clean:
    return lambda text: second(first(text))
