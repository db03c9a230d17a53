"""`@tool`: a typed function becomes a tool whose schema, checks and results say the same."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import json
import threading
import uuid
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import anyio
import jsonschema
import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from ptc.errors import ConfigError, ToolError
from ptc.results import ToolResult
from ptc.schema import compile_schema
from ptc.tooling import Tool, ToolContext, tool

if TYPE_CHECKING:
    from ptc.nowhere import Missing  # type: ignore[import-not-found]


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Edit(BaseModel):
    old: str
    new: str = ""


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    known: int


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Row(TypedDict):
    name: str
    size: int


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


def context() -> ToolContext:
    async def invoke(name: str, args: Any) -> ToolResult:
        return ToolResult(name)

    workspace: Any = None
    return ToolContext(workspace, "c1", "host", None, invoke, lambda m, f: None, lambda t: None, 65_536)


def run(of: Tool, args: dict[str, Any]) -> Any:
    async def main() -> Any:
        with anyio.fail_after(20):
            assert of.validator is not None
            of.validator(args)
            return await of.run(context(), args)

    return anyio.run(main)


def refusal(of: Tool, args: dict[str, Any]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        run(of, args)
    return caught.value


# --- what the tool says of itself -------------------------------------------------------------------------------------


def test_signature_docstring_and_annotations_become_the_definition() -> None:
    @tool(read_only=True, timeout_ms=500, subject="path", aliases={"file_path": "path"})
    async def search(
        path: str, ctx: ToolContext, *, limit: Annotated[int, Field(ge=1, le=50, description="most")] = 10
    ) -> str:
        """Search a file.

        Example: search({"path": "a"})

        Args:
            path (str): where to look,
                relative to the workspace
            limit: is described in the annotation

        Returns:
            Lines.
        """
        return path

    assert search.name == "search"
    assert search.description == 'Search a file.\n\nExample: search({"path": "a"})\n\nReturns:\n    Lines.'
    assert search.input_schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "where to look, relative to the workspace"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "most"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert search.positional == ("path",)
    assert (search.read_only, search.timeout_ms, search.subject) == (True, 500, "path")
    assert search.source.endswith("search")
    assert search.output_schema is None


def test_numpy_docstrings_are_read_too() -> None:
    @tool
    def f(a: int, b: str = "x") -> str:
        """Do it.

        Parameters
        ----------
        a : int
            The number,
            an integer.
        b : str, optional
            The text.

        Returns
        -------
        str
        """
        return b

    assert f.input_schema["properties"]["a"]["description"] == "The number, an integer."
    assert f.input_schema["properties"]["b"]["description"] == "The text."
    assert f.description.startswith("Do it.\n\nReturns")


def test_a_function_without_docstring_or_parameters_is_a_tool() -> None:
    @tool
    def now() -> str:
        return "12:00"

    assert now.description == "now()"
    assert run(now, {}) == "12:00"
    assert refusal(now, {"x": 1}).code == "invalid_arguments"


def test_models_are_inlined_without_titles_and_closed() -> None:
    @tool
    def edit(edits: list[Edit], title: str = "t") -> str:
        return edits[0].new

    text = json.dumps(edit.input_schema)
    assert "$ref" not in text
    assert "$defs" not in text
    assert edit.input_schema["properties"]["title"] == {"type": "string", "default": "t"}
    assert edit.input_schema["properties"]["edits"]["items"]["additionalProperties"] is False
    assert refusal(edit, {"edits": [{"old": "a", "nwe": "b"}]}).message.startswith(
        "edit: edits[0].nwe: is not accepted"
    )


def test_a_model_that_allows_more_keys_keeps_them() -> None:
    @tool
    def f(v: Loose) -> dict[str, Any]:
        return v.model_dump()

    assert run(f, {"v": {"known": 1, "more": 2}}) == {"known": 1, "more": 2}
    assert refusal(f, {"v": {"known": 1}, "w": 1}).code == "invalid_arguments"


def test_a_recursive_model_keeps_its_definitions_and_is_checked() -> None:
    @tool
    def f(tree: Tree) -> str:
        return tree.children[0].name

    assert "$defs" in f.input_schema
    jsonschema.Draft202012Validator.check_schema(f.input_schema)
    assert run(f, {"tree": {"name": "a", "children": [{"name": "b"}]}}) == "b"
    assert "tree.children[0].name" in refusal(f, {"tree": {"name": "a", "children": [{"name": 5}]}}).message


# --- strict arguments -------------------------------------------------------------------------------------------------


@tool
async def everything(
    n: int = 0,
    x: float = 0.5,
    flag: bool = False,
    text: str = "",
    when: Optional[datetime.datetime] = None,  # noqa: UP045 - this form must work too
    colour: Colour = Colour.RED,
    mode: Literal["a", "b"] = "a",
    ident: uuid.UUID | None = None,
    point: Point | None = None,
    row: Row | None = None,
    pair: tuple[int, str] | None = None,
    names: set[str] | None = None,
    table: dict[str, list[int]] | None = None,
    anything: Any = None,
) -> str:
    return repr((n, x, flag, text, when, colour, mode, ident, point, row, pair, names, table, anything))


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"n": 3.0}, "(3, "),
        ({"n": 10**30}, f"({10**30}, "),
        ({"x": 1}, "(0, 1.0, "),
        ({"when": "2026-01-01T10:00:00Z"}, "datetime.datetime(2026, 1, 1, 10, 0"),
        ({"colour": "blue"}, "<Colour.BLUE: 'blue'>"),
        ({"ident": "12345678-1234-5678-1234-567812345678"}, "UUID('12345678"),
        ({"point": {"x": 1}}, "Point(x=1, y=0)"),
        ({"row": {"name": "a", "size": 1}}, "{'name': 'a', 'size': 1}"),
        ({"pair": [1, "a"]}, "(1, 'a')"),
        ({"names": ["a"]}, "{'a'}"),
        ({"table": {"a": [1]}}, "{'a': [1]}"),
        ({"anything": {"deep": [None]}}, "{'deep': [None]}"),
    ],
)
def test_json_values_become_the_python_types_of_the_signature(args: dict[str, Any], shown: str) -> None:
    assert shown in run(everything, args)
    assert compile_schema(everything.input_schema).validate(args) == [], "the published schema says the same"


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("args", "path", "message"),
    [
        ({"n": "5"}, "n", "an integer is accepted; '5' (text) was given"),
        ({"n": True}, "n", "an integer is accepted; true was given"),
        ({"n": 1.5}, "n", "an integer is accepted; 1.5 (a number) was given"),
        ({"n": None}, "n", "an integer is accepted; null was given"),
        ({"flag": 1}, "flag", "true or false is accepted; 1"),
        ({"flag": "true"}, "flag", "true or false is accepted"),
        ({"text": 5}, "text", "text is accepted; 5"),
        ({"x": "0.5"}, "x", "a number is accepted"),
        ({"x": float("nan")}, "x", ""),
        ({"colour": "green"}, "colour", "one of 'red', 'blue' is accepted; 'green'"),
        ({"mode": "c"}, "mode", "one of 'a', 'b' is accepted; 'c'"),
        ({"when": "soon"}, "when", "valid datetime"),
        ({"when": 5}, "when", "text or null is accepted; 5"),
        ({"ident": "x"}, "ident", "valid UUID"),
        ({"point": {"x": "1"}}, "point.x", "an integer is accepted"),
        ({"row": {"name": "a"}}, "row.size", "is required and missing"),
        ({"pair": [1]}, "pair", ""),
        ({"txet": "a"}, "txet", "did you mean text?"),
    ],
)
def test_what_does_not_fit_is_refused_in_the_words_of_every_other_tool(
    args: dict[str, Any], path: str, message: str
) -> None:
    error = refusal(everything, args)
    assert error.code == "invalid_arguments"
    assert error.details["problems"][0]["path"] == path
    assert message in error.details["problems"][0]["message"]
    assert "pydantic" not in error.message
    assert "Accepted: everything(n?: integer = 0" in error.message


def test_half_of_a_surrogate_pair_is_refused_and_no_crash() -> None:
    assert "surrogate" in refusal(everything, {"text": "\udfff"}).message


def test_a_validator_of_the_host_tells_its_own_reason() -> None:
    @tool
    def f(n: Annotated[int, pydantic.AfterValidator(even)]) -> str:
        return str(n)

    error = refusal(f, {"n": 3})
    assert error.details["problems"] == [{"path": "n", "message": "must be even; 3 (a number) was given"}]


def test_arguments_stay_json_until_the_tool_runs() -> None:
    args = {"when": "2026-01-01T10:00:00Z", "n": 1}
    assert everything.validator is not None
    assert everything.validator(args) is args


# --- running ----------------------------------------------------------------------------------------------------------


def test_a_plain_function_runs_in_a_worker_thread_and_an_async_one_on_the_loop() -> None:
    @tool
    def plain(ctx: ToolContext) -> str:
        assert ctx.call_id == "c1"
        return str(threading.get_ident())

    @tool
    async def on_loop(c: ToolContext) -> str:
        assert c.call_id == "c1"
        return str(threading.get_ident())

    assert run(plain, {}) != str(threading.get_ident())
    assert run(on_loop, {}) == str(threading.get_ident())
    assert "ctx" not in plain.input_schema["properties"]


def test_a_blocked_plain_function_does_not_hold_a_cancelled_call() -> None:
    release = threading.Event()

    @tool
    def stuck() -> str:
        release.wait(20)
        return "late"

    async def main() -> bool:
        with anyio.fail_after(10), anyio.move_on_after(0.05) as scope:
            await stuck.run(context(), {})
        return scope.cancelled_caught

    try:
        assert anyio.run(main)
    finally:
        release.set()


def test_methods_and_callable_objects_are_tools() -> None:
    class Box:
        def get(self, n: int) -> str:
            return f"got {n}"

        async def __call__(self, n: int) -> str:
            return f"called {n}"

    assert run(tool(Box().get), {"n": 1}) == "got 1"
    assert run(tool(name="box")(Box()), {"n": 2}) == "called 2"


@pytest.mark.parametrize(
    ("annotation", "value", "result"),
    [
        (str, "text", "text"),
        (None, None, None),
        (Edit, Edit(old="a"), {"old": "a", "new": ""}),
        (list[Edit], [Edit(old="a")], [{"old": "a", "new": ""}]),
        (Point, Point(1), {"x": 1, "y": 0}),
        (Row, {"name": "a", "size": 1}, {"name": "a", "size": 1}),
        (dict[str, datetime.date], {"d": datetime.date(2026, 1, 1)}, {"d": "2026-01-01"}),
        (int, 5, 5),
        (str | None, "text", "text"),
        (Any, {"a": [Edit(old="x")]}, {"a": [{"old": "x", "new": ""}]}),
        (Literal["a", "b"], "a", ToolResult("f", output="a", data="a")),
        (ToolResult, ToolResult("f", "o"), ToolResult("f", "o")),
    ],
)
def test_what_a_function_returns_becomes_text_or_json(annotation: Any, value: Any, result: Any) -> None:
    def f() -> Any:
        return value

    f.__annotations__["return"] = annotation
    made = tool(f)
    assert run(made, {}) == result
    if made.output_schema is not None:
        data = result.data if isinstance(result, ToolResult) else result
        assert compile_schema(made.output_schema).validate(data) == []


@pytest.mark.promise("P4")
@pytest.mark.parametrize(("annotation", "value"), [(list[Edit], 5), (int, "5"), (Any, object()), (Any, b"\xff")])
def test_a_result_that_breaks_its_declaration_is_an_error_and_not_passed_on(annotation: Any, value: Any) -> None:
    def f() -> Any:
        return value

    f.__annotations__["return"] = annotation
    assert refusal(tool(f), {}).code == "invalid_result"


def test_an_error_of_the_tool_passes_through_with_its_code() -> None:
    @tool
    def f() -> str:
        raise ToolError("quota", "none left")

    assert refusal(f, {}).code == "quota"


# --- what cannot be a tool --------------------------------------------------------------------------------------------


def variadic(*args: int) -> str:
    return ""


def keywords(**values: int) -> str:
    return ""


def positional_only(a: int, /) -> str:
    return ""


def untyped(a) -> str:  # type: ignore[no-untyped-def]
    return ""


def unknown_type(a: Missing) -> str:
    return ""


def no_schema(a: threading.Lock) -> str:
    return ""


def no_schema_out(a: int) -> threading.Lock:
    raise NotImplementedError


async def stream(a: int) -> AsyncIterator[str]:
    yield ""


def two_contexts(a: ToolContext, b: ToolContext) -> str:
    return ""


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("make", "word"),
    [
        (variadic, "has no place in a schema"),
        (keywords, "has no place in a schema"),
        (positional_only, "has no place in a schema"),
        (untyped, "annotate it, e.g. a: str"),
        (unknown_type, "Missing"),
        (no_schema, "no JSON Schema"),
        (no_schema_out, "no JSON Schema"),
        (stream, "generator"),
        (two_contexts, "one is enough"),
        (lambda a: "", "annotate it"),
        (5, "needs a function"),
    ],
)
def test_a_signature_without_a_schema_is_refused_with_the_remedy(make: Any, word: str) -> None:
    with pytest.raises(ConfigError, match=word) as caught:
        tool(make)
    assert caught.value.code == "invalid_tool"


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"readonly": True}, "did you mean read_only"),
        ({"subject": "pth"}, "the parameters are path, n"),
        ({"aliases": {"n": "path"}}, "new name for one of the parameters"),
        ({"aliases": {"x": "y"}}, "new name for one of the parameters"),
        ({"name": "two words"}, "not usable"),
        ({"timeout_ms": 0}, "1 or more"),
    ],
)
def test_a_wrong_option_is_refused_with_what_is_accepted(options: dict[str, Any], word: str) -> None:
    def f(path: str, n: int = 1) -> str:
        return path

    with pytest.raises(ConfigError, match=word):
        tool(**options)(f)


def test_a_partial_function_leaves_out_what_it_has_fixed() -> None:
    def f(a: int, b: int) -> str:
        return f"{a} {b}"

    made = tool(name="f")(functools.partial(f, 1))
    assert list(made.input_schema["properties"]) == ["b"]
    assert run(made, {"b": 2}) == "1 2"
