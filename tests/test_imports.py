"""Imports go one way. The table below is the architecture; this file reads the source and fails on an arrow not in it.

Imports under `if TYPE_CHECKING:` are for the reader's types and draw no arrow. Imports inside functions draw arrows
like all others, but cannot close a circle at load time; they must give their reason in a comment.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "ptc"
MAX_LINES = 400

LEAVES = frozenset({"codes", "errors", "limits", "names", "values", "results", "events"})
TOOLING = LEAVES | {"conditions", "tooling", "registry", "schema", "_signature", "_docstring", "_json_schema"}
PROGRAM = TOOLING | {"workspace", "kernel", "protocol", "vm", "program", "journal"}
SESSION = PROGRAM | {"tools", "session"}
EVERYTHING_BELOW_CLI = SESSION | {"sync", "testing", "doctor", "agent", "mcp", "models", "memory", "web", "ptc"}


class Row(NamedTuple):
    """A unit (a module or a folder of ptc/), what it may import of ptc, and the sentence that says why."""

    may: frozenset[str]
    because: str


ROWS: dict[str, Row] = {
    "ptc": Row(frozenset(), "the package loads its names on first use, because the VM process imports it too"),
    "codes": Row(frozenset(), "the table of codes is the lowest leaf"),
    "names": Row(frozenset(), "guessing a name is a leaf"),
    "errors": Row(frozenset({"codes"}), "errors are a leaf: everything may raise them"),
    "limits": Row(frozenset({"codes", "errors"}), "limits are a leaf"),
    "values": Row(frozenset({"codes", "errors"}), "values are a leaf"),
    "results": Row(LEAVES - {"results", "events"}, "results stand on leaves alone"),
    "events": Row(LEAVES - {"events"}, "events stand on leaves alone"),
    "protocol": Row(LEAVES, "the protocol is sans-io and never sees a tool"),
    "vm": Row(LEAVES | {"protocol"}, "the VM never sees a tool, and its process stays light"),
    "schema": Row(LEAVES, "a schema is checked without knowing whose it is"),
    "_json_schema": Row(LEAVES, "the words of a schema sit beside the Tool record"),
    "_docstring": Row(LEAVES, "the words of a docstring sit beside the Tool record"),
    "conditions": Row(LEAVES, "a condition is judged from facts that it is given"),
    "tooling": Row(LEAVES | {"conditions", "_signature", "schema"}, "a Tool is data: it knows neither kernel nor VM"),
    "_signature": Row(TOOLING, "the decorator's engine sits beside the Tool record"),
    "registry": Row(LEAVES | {"tooling", "schema"}, "the registry holds Tool records and compiles their schemas"),
    "workspace": Row(LEAVES, "files know paths and errors; they see neither tools nor kernel"),
    "sandbox": Row(LEAVES, "the sandbox confines processes and knows no tool that asks for one"),
    "shell": Row(TOOLING | {"sandbox"}, "the rules for commands know the sandbox that enforces them, and no tool"),
    "web": Row(TOOLING, "the one HTTP door knows no tool, no kernel and no VM"),
    "tools": Row(
        TOOLING | {"workspace", "web", "memory", "sandbox", "shell"},
        "tools and kernel are blind to each other, and no tool sees the VM",
    ),
    "kernel": Row(TOOLING | {"workspace"}, "kernel and tools are blind to each other, and no governor sees the VM"),
    "journal": Row(LEAVES | {"protocol"}, "the journal records turns; it runs nothing"),
    "program": Row(PROGRAM - {"program"}, "a program joins VM and kernel; it does not know the tools or the session"),
    "wiring": Row(
        SESSION - {"session"} | {"memory", "models", "web", "sandbox", "shell"},
        "the composition root wires what lies below it",
    ),
    "session": Row(SESSION - {"session"} | {"wiring"}, "the session is the face of what is wired"),
    "sync": Row(SESSION, "the blocking session is the session behind a portal"),
    "doctor": Row(SESSION | {"sandbox", "shell"}, "the doctor asks the rooms below it"),
    "testing": Row(SESSION | {"models"}, "public fakes stand on the public rooms"),
    "models": Row(TOOLING, "a model is reached by HTTP and sees tool definitions only"),
    "memory": Row(TOOLING, "the memory store offers tools and knows no kernel"),
    "agent": Row(SESSION | {"models", "memory"}, "the agent loop uses the session's public methods"),
    "mcp": Row(SESSION, "MCP brings tools in and serves the session"),
    "cli": Row(EVERYTHING_BELOW_CLI, "the command line is the top"),
    "__main__": Row(frozenset({"cli"}), "`python -m ptc` is the command line"),
}

# Finer rules inside a unit: modules that match the first pattern import nothing that matches the second.
FINER: tuple[tuple[str, str, str], ...] = (
    (
        r"ptc\.kernel\.(?!invoke$|perform$|_)\w+",
        r"ptc\.kernel\.(?!call(\.|$)|_|secret_shapes)\w+",
        "governors see call.py and leaves, never one another; the order stands in invoke.py alone",
    ),
    (
        r"ptc\.protocol\.\w+",
        r"(asyncio|anyio|socket|os|io|subprocess|threading|time|select|pathlib)(\.|$)",
        "the protocol is sans-io: no files, sockets, clocks, tasks",
    ),
    (r"ptc\.(?!vm\.).*", r"_?quickjs(\.|$)", "the engine is imported in the VM process only"),
    (r"ptc\.(?!cli\._rich$).*", r"rich(\.|$)", "rich is optional and dear; one file knows it"),
    (r"ptc\.(?!cli(\.|$)).*", r"click(\.|$)", "only the command line knows click"),
)


class Import(NamedTuple):
    importer: str
    target: str
    line: int
    in_function: bool


def module_name(root: Path, file: Path) -> str:
    parts = (root.name, *file.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(root: Path) -> dict[str, Path]:
    return {module_name(root, file): file for file in sorted(root.rglob("*.py"))}


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def import_nodes(node: ast.AST, in_function: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Every import statement below `node` that runs, and whether it stands in a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, in_function
        elif is_type_checking(child):
            assert isinstance(child, ast.If)
            for branch in child.orelse:
                yield from import_nodes(ast.Module([branch], []), in_function)
        else:
            inner = in_function or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from import_nodes(child, inner)


def targets(node: ast.Import | ast.ImportFrom, importer: str, is_package: bool, known: set[str]) -> list[str]:
    """The modules that a statement loads; `from ptc.kernel import call` means the module ptc.kernel.call."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        parents = importer.split(".")
        parents = parents[: len(parents) - node.level + is_package]
        base = ".".join([*parents, base] if base else parents)
    return [full if (full := f"{base}.{alias.name}") in known else base for alias in node.names]


def imports(root: Path) -> list[Import]:
    files = modules(root)
    found = []
    for name, file in files.items():
        for node, in_function in import_nodes(ast.parse(file.read_text("utf-8"))):
            for target in targets(node, name, file.name == "__init__.py", set(files)):
                found.append(Import(name, target, node.lineno, in_function))
    return found


def unit(module: str, root: str) -> str | None:
    """The first name below the package, the package's own name for its root, None for a foreign module.

    A private helper beside a unit belongs to it: `_schema_checks` to `schema`.
    """
    head, _, rest = module.partition(".")
    if head != root:
        return None
    name = rest.split(".")[0]
    helped = name.lstrip("_").partition("_")[0]
    return (helped if name not in ROWS and name.startswith("_") and helped in ROWS else name) or root


def forbidden_arrows(root: Path) -> list[str]:
    faults = []
    for arrow in imports(root):
        source, target = unit(arrow.importer, root.name), unit(arrow.target, root.name)
        place = f"{arrow.importer}:{arrow.line} imports {arrow.target}"
        assert source is not None
        if source not in ROWS:
            faults.append(f"{arrow.importer} has no row in tests/test_imports.py: decide where it stands")
        elif target is not None and target != source and target not in ROWS[source].may:
            faults.append(f"{place}: {ROWS[source].because}")
        faults += [
            f"{place}: {because}"
            for importers, banned, because in FINER
            if re.fullmatch(importers, arrow.importer) and re.match(banned, arrow.target)
        ]
    return sorted(set(faults))


def circles(root: Path) -> list[str]:
    """Circles of module-level imports, each once, as `a -> b -> a`."""
    graph: dict[str, list[str]] = {name: [] for name in modules(root)}
    for arrow in imports(root):
        if not arrow.in_function and arrow.target in graph and arrow.target != arrow.importer:
            graph[arrow.importer].append(arrow.target)
    found: list[str] = []
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append(" -> ".join([*path[path.index(name) :], name]))
        elif name not in done:
            for target in graph[name]:
                visit(target, [*path, name])
            done.add(name)

    for name in graph:
        visit(name, [])
    return found


def star_imports(root: Path) -> list[str]:
    return [
        f"{name}:{node.lineno}"
        for name, file in modules(root).items()
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]


def unexplained_imports(root: Path) -> list[str]:
    """Imports inside functions without a reason: a comment beside them, or above the group of imports they stand in.

    One reason serves a whole file.
    """
    found = []
    for name, file in modules(root).items():
        text = file.read_text("utf-8")
        lines = ["", *text.splitlines()]
        late = [node for node, in_function in import_nodes(ast.parse(text)) if in_function]
        covered = {node.lineno for node in late if "# " in lines[node.lineno] or "# " in lines[node.end_lineno or 0]}
        for node in sorted(late, key=lambda node: node.lineno):
            if lines[node.lineno - 1].lstrip().startswith("# ") or node.lineno - 1 in covered:
                covered |= {node.lineno, node.end_lineno or node.lineno}
        explained = {module(node) for node in late if node.lineno in covered}
        found += [f"{name}:{node.lineno}" for node in late if module(node) not in explained]
    return found


def module(node: ast.Import | ast.ImportFrom) -> str:
    return ast.unparse(node).split()[1]


def long_files(root: Path) -> list[str]:
    files = [file for kind in ("*.py", "*.js") for file in sorted(root.rglob(kind))]
    counts = {file: len(file.read_text("utf-8").splitlines()) for file in files}
    return [f"{file.relative_to(root)}: {count} lines" for file, count in counts.items() if count > MAX_LINES]


def none_of(faults: list[str]) -> None:
    assert not faults, "\n".join(["", *faults])


def test_imports_follow_the_table() -> None:
    none_of(forbidden_arrows(PACKAGE))


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    none_of(circles(PACKAGE))


def test_nothing_is_imported_by_a_star() -> None:
    none_of(star_imports(PACKAGE))


def test_an_import_inside_a_function_says_why() -> None:
    none_of(unexplained_imports(PACKAGE))


def test_no_module_is_longer_than_400_lines() -> None:
    none_of(long_files(PACKAGE))


def test_the_table_itself_has_no_circle_at_the_bottom() -> None:
    """The leaves may be ordered so that each imports only earlier ones; a row that breaks this is a typing error."""
    placed: set[str] = set()
    while ready := {name for name in LEAVES - placed if ROWS[name].may & LEAVES <= placed}:
        placed |= ready
    assert placed == LEAVES


@pytest.fixture
def bad_tree(tmp_path: Path) -> Path:
    """A package that breaks every rule once."""
    root = tmp_path / "ptc"
    files = {
        "__init__.py": "",
        "errors.py": "from ptc.values import x\n",
        "values.py": "import ptc.errors\n",
        "unplaced.py": "import json\n",
        "_values_more.py": "import ptc.registry\n",
        "kernel/__init__.py": "",
        "kernel/call.py": "",
        "kernel/budget.py": "from . import call\nfrom .hooks import Hook\n",
        "kernel/hooks.py": "def late():\n    import json\n    return json\n",
        "kernel/_rules.py": "",
        "kernel/queue.py": "from ptc.kernel import _rules\nfrom ptc.tools import *\n",
        "protocol/__init__.py": "",
        "protocol/codec.py": "import time\n",
        "tools/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ptc.kernel import call\n",
        "tools/long.py": "x = 1\n" * (MAX_LINES + 1),
        "vm/prelude.js": "//\n" * (MAX_LINES + 1),
    }
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_a_bad_tree_is_caught(bad_tree: Path) -> None:
    faults = forbidden_arrows(bad_tree)
    assert [fault.partition(": ")[0] for fault in faults] == [
        "ptc._values_more:1 imports ptc.registry",
        "ptc.errors:1 imports ptc.values",
        "ptc.kernel.budget:2 imports ptc.kernel.hooks",
        "ptc.kernel.queue:2 imports ptc.tools",
        "ptc.protocol.codec:1 imports time",
        "ptc.unplaced has no row in tests/test_imports.py",
    ]
    assert circles(bad_tree) == ["ptc.errors -> ptc.values -> ptc.errors"]
    assert star_imports(bad_tree) == ["ptc.kernel.queue:2"]
    assert unexplained_imports(bad_tree) == ["ptc.kernel.hooks:2"]
    assert long_files(bad_tree) == ["tools/long.py: 401 lines", "vm/prelude.js: 401 lines"]


def test_a_reason_beside_or_above_an_import_in_a_function_serves_the_file(tmp_path: Path) -> None:
    root = tmp_path / "ptc"
    root.mkdir()
    beside = "def f():\n    import json  # heavy\n"
    above = "def g():\n    # optional\n    from rich import console\n    import click\n"
    again = "def h():\n    import json\n"
    nowhere = "def i():\n    import ssl\n"
    (root / "a.py").write_text(beside + above + again + nowhere)
    assert unexplained_imports(root) == ["ptc.a:10"]
