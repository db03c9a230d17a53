"""From a typed Python function to a Tool: what stands behind `@tool`.

pydantic reads the signature once and validates every call in about a microsecond. Arguments are validated as JSON text,
in strict mode: that is the one mode in which "5" is not 5 and "2026-01-01" still is a date, as JSON has no dates. What
governors see and approve stays the JSON that was sent; Python values are made right before the function runs.

This file imports pydantic, which costs 60 ms; only a program that decorates a function pays it.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio.to_thread
import pydantic
import pydantic_core

from ptc._docstring import read_docstring
from ptc._json_schema import close_objects, plain_schema
from ptc._schema_words import given, signature, spelled
from ptc.errors import ConfigError, ToolError
from ptc.names import nearest
from ptc.results import ToolResult
from ptc.schema import Problem, Validator, compile_schema, refuse_arguments
from ptc.tooling import Tool, ToolContext
from ptc.values import dumps, show

__all__ = ["tool_from_function"]

_OPTIONS: Final = (
    "name", "description", "read_only", "idempotent", "timeout_ms", "concurrency", "permission", "subject", "subjects",
    "subject_kind", "reads", "writes", "aliases", "on_update", "cache_control",
)  # fmt: skip
_MAX_PROBLEMS: Final = 8


def tool_from_function(function: Callable[..., Any], **options: Any) -> Tool:
    """The Tool of a typed function; options as of `ptc.tooling.tool`.

    A value of type str becomes the output; any other value becomes `data`, as JSON, and its JSON text the output. A
    return annotation becomes the output schema and is enforced.
    Raises ConfigError `invalid_tool` for a signature, a type or an option that cannot be used.
    """
    name = options.pop("name", None) or getattr(function, "__name__", type(function).__name__)
    _check_options(name, options)
    parameters, context, hints = _parameters(function, name)
    arguments = _Arguments(name, parameters, hints)
    answer = _Answer(name, hints.get("return", inspect.Signature.empty))
    docstring = read_docstring(function)
    for argument, text in docstring.arguments.items():
        part = arguments.schema["properties"].get(argument)
        if part is not None and text:
            part.setdefault("description", text)
    _check_names(name, arguments.schema["properties"], options)
    description = options.pop("description", None) or docstring.description
    return Tool(
        name=name,
        description=description or signature(name, arguments.schema),
        input_schema=arguments.schema,
        output_schema=answer.schema,
        run=_runner(function, context, arguments, answer),
        positional=tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY),
        source=f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', name)}",
        validator=arguments.check,
        **{key: value for key, value in options.items() if value is not None},
    )


def _invalid(name: str, what: str) -> ConfigError:
    return ConfigError("invalid_tool", f"@tool {show(str(name))}: {what}")


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    for option in options:
        if option not in _OPTIONS:
            near = nearest(option, _OPTIONS)
            hint = f"did you mean {near}?" if near else f"the options are {', '.join(_OPTIONS)}."
            raise _invalid(name, f"there is no option {show(option)}; {hint}")


def _check_names(name: str, properties: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    accepted = ", ".join(properties) or "none"
    subject = options.get("subject")
    if subject is not None and subject not in properties:
        raise _invalid(name, f"subject {show(str(subject))} is not a parameter; the parameters are {accepted}.")
    for alias, target in (options.get("aliases") or {}).items():
        if target not in properties or alias in properties:
            raise _invalid(
                name, f"alias {show(str(alias))} must be a new name for one of the parameters, which are {accepted}."
            )


def _parameters(function: Callable[..., Any], name: str) -> tuple[list[inspect.Parameter], str | None, dict[str, Any]]:
    """The parameters a caller fills, the name of the one that takes the ToolContext, and the resolved annotations."""
    body = _body(function)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        raise _invalid(name, "a generator cannot be a tool; return a list, or stream with ToolContext.delta.")
    # `ToolContext` is often imported for type checkers only; every other name must exist at run time.
    names = {"ToolContext": ToolContext, **getattr(inspect.unwrap(body), "__globals__", {})}
    try:
        found = inspect.signature(function)
        hints = typing.get_type_hints(body, globalns=names, include_extras=True)
    except (NameError, TypeError, ValueError, SyntaxError) as error:
        raise _invalid(
            name, f"its annotations cannot be read ({error!s:.200}); use types that exist where the module is loaded."
        ) from None
    parameters: list[inspect.Parameter] = []
    context = None
    for parameter in found.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise _invalid(
                name,
                f"parameter {parameter!s:.80} has no place in a schema; arguments have names, so use plain parameters.",
            )
        if hints.get(parameter.name) is ToolContext:
            if context is not None:
                raise _invalid(name, "two parameters take the ToolContext; one is enough.")
            context = parameter.name
        elif parameter.name not in hints:
            raise _invalid(name, f"parameter {parameter.name} has no type; annotate it, e.g. {parameter.name}: str.")
        else:
            parameters.append(parameter)
    return parameters, context, hints


def _body(function: Any) -> Any:
    """The function that will run: inside a partial, or the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


class _Arguments:
    """JSON arguments -> keyword arguments of the function."""

    def __init__(self, name: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> None:
        self._name = name
        adapter = _adapter(name, _collector(parameters, hints))
        self.schema = plain_schema(adapter.json_schema())
        # A misspelt key inside a nested model is refused too, unless a model says that it takes any.
        self._extra: Any = "forbid" if close_objects(self.schema) else None
        self._validate = adapter.validator.validate_json
        self._words: Validator | None = None

    def check(self, args: dict[str, Any]) -> dict[str, Any]:
        """`args` as they are, if they fit. Raises ToolError `invalid_arguments`."""
        self.convert(args)
        return args

    def convert(self, args: dict[str, Any]) -> dict[str, Any]:
        """The values for the function, defaults filled in. Raises ToolError `invalid_arguments`."""
        try:
            return self._parse(args)
        except pydantic_core.ValidationError as error:
            problems = self._problems(args)
            if problems:
                raise refuse_arguments(self._name, self.schema, problems) from None
            try:
                # JSON has one kind of number, so 3.0 is an integer; pydantic is stricter than the schema it wrote.
                return self._parse(_whole_numbers(args))
            except pydantic_core.ValidationError:
                raise refuse_arguments(self._name, self.schema, _translated(error, args)) from None

    def _parse(self, args: dict[str, Any]) -> dict[str, Any]:
        try:
            text = dumps(args)
        except ValueError as error:
            problems = self._problems(args)
            if problems:
                raise refuse_arguments(self._name, self.schema, problems) from None
            raise ToolError("invalid_arguments", f"{self._name}: the arguments are not JSON: {error!s:.200}") from None
        values: dict[str, Any] = self._validate(text, strict=True, extra=self._extra)
        return values

    def _problems(self, args: dict[str, Any]) -> list[Problem]:
        """What the schema finds wrong, in the words that every other tool has."""
        if self._words is None:
            try:
                self._words = compile_schema(self.schema)
            except ConfigError:
                return []
        return self._words.validate(args)


def _adapter(name: str, kind: Any) -> pydantic.TypeAdapter[Any]:
    try:
        adapter = pydantic.TypeAdapter(kind)
        adapter.json_schema()
    except (pydantic.errors.PydanticUserError, pydantic_core.SchemaError, TypeError, NameError) as error:
        raise _invalid(name, f"a type has no JSON Schema: {str(error).splitlines()[0]:.200}") from None
    return adapter


def _collector(parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> Callable[..., dict[str, Any]]:
    """A function with the given signature that only gives back what it was called with."""

    def collect(**values: Any) -> dict[str, Any]:
        return values

    named = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    collect.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    collect.__annotations__ = {parameter.name: hints[parameter.name] for parameter in parameters}
    return collect


def _whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole_numbers(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(child) for child in value]
    return value


def _translated(error: pydantic_core.ValidationError, args: dict[str, Any]) -> list[Problem]:
    """Problems that only pydantic sees (dates, UUIDs, validators of the host): its reason, our form."""
    problems: dict[str, Problem] = {}
    for fault in error.errors(include_url=False, include_context=False)[:_MAX_PROBLEMS]:
        if fault["type"] == "json_invalid":
            reason = "text with half of a surrogate pair is not accepted; send whole characters"
            return [Problem("", reason, "Unicode text")]
        path: list[str | int] = []
        value: Any = args
        for part in fault["loc"]:
            # Members of a union put their names into the path; only what leads on in the arguments belongs there.
            inside = isinstance(value, dict) and part in value
            if inside or (isinstance(value, list) and isinstance(part, int) and part < len(value)):
                path.append(part)
                value = value[part]
        where = spelled(tuple(path))
        reason = show(fault["msg"].removeprefix("Value error, "), 200)[1:-1]
        problems.setdefault(where, Problem(where, f"{reason}; {given(value)} was given", reason))
    return list(problems.values())


class _Answer:
    """What the function returns -> what a tool returns."""

    def __init__(self, name: str, annotation: Any) -> None:
        self._name = name
        self._adapter: pydantic.TypeAdapter[Any] | None = None
        self.schema: dict[str, Any] | None = None
        if not _is_plain(annotation):
            self._adapter = _adapter(name, annotation)
            self.schema = plain_schema(self._adapter.json_schema(mode="serialization"))

    def convert(self, value: Any) -> Any:
        """Text, JSON, None or a ToolResult. Raises ToolError `invalid_result`."""
        if value is None or isinstance(value, ToolResult):
            return value
        if self._adapter is None and isinstance(value, str):
            return value
        try:
            if self._adapter is None:
                data = pydantic_core.to_jsonable_python(value)
            else:
                data = self._adapter.dump_python(value, mode="json", warnings="error")
        except (pydantic_core.PydanticSerializationError, ValueError, RecursionError) as error:
            raise ToolError(
                "invalid_result", f"{self._name} ran, but what it returned is not what it declares: {error!s:.300}"
            ) from None
        return ToolResult(self._name, output=data, data=data) if isinstance(data, str) else data


def _is_plain(annotation: Any) -> bool:
    """True for return types that make no schema: text, nothing, anything."""
    members = typing.get_args(annotation) or (annotation,)
    plain = (str, None, type(None), Any, ToolResult, inspect.Signature.empty, object)
    return typing.get_origin(annotation) not in (list, dict, tuple, set, frozenset) and all(m in plain for m in members)


def _runner(
    function: Callable[..., Any], context: str | None, arguments: _Arguments, answer: _Answer
) -> Callable[[ToolContext, dict[str, Any]], Awaitable[Any]]:
    asynchronous = inspect.iscoroutinefunction(_body(function))

    async def run(ctx: ToolContext, args: dict[str, Any]) -> Any:
        values = arguments.convert(args)
        if context is not None:
            values[context] = ctx
        if asynchronous:
            return answer.convert(await function(**values))
        call = functools.partial(function, **values)
        return answer.convert(await anyio.to_thread.run_sync(call, abandon_on_cancel=True))

    return run
