"""What holds a script on this machine: the engine, the layers around it, and how long a VM takes to start.

Everything is found out by doing it: a zygote is started, a child is forked and says which layers it has on.
"""

from __future__ import annotations

import importlib.metadata
import platform
import select
import time
from typing import Final, NamedTuple

from ptc.errors import ProtocolError, PtcError, ToolError
from ptc.protocol.machine import Connection
from ptc.protocol.messages import Ready, parse_ready
from ptc.sandbox.probe import probe
from ptc.shell.syntax import available as grammar_available
from ptc.vm.harden import LAYERS
from ptc.vm.process import Child, Zygote

__all__ = ["Row", "rows"]

WAIT_S: Final = 20.0
PURPOSE: Final = {
    "uid": "the VM process is an ordinary user, whoever the host is",
    "rlimits": "no core dumps, new files, new processes; bounded memory and CPU",
    "no_new_privs": "no program it might start could gain rights",
    "landlock": "the kernel refuses every path, TCP port and signal",
    "seccomp": "the kernel refuses every system call outside a short list",
}


class Row(NamedTuple):
    """One fact: `state` is `on`, `off`, `ok`, `missing` or `failed`; `note` is one sentence."""

    name: str
    state: str
    note: str


def rows() -> list[Row]:
    """The facts, in the order of a report. Never raises for a sandbox that does not work: that is a row."""
    facts = [
        Row("python", "ok", f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}"),
        _engine(),
    ]
    try:
        ready, start_ms, fork_ms = _try_out()
    except PtcError as error:
        return [*facts, Row("vm process", "failed", error.message)]
    facts.append(Row("vm process", "ok", f"first child after {start_ms:.0f} ms, the next after {fork_ms:.1f} ms"))
    for layer in LAYERS:
        on = layer in ready.layers
        facts.append(
            Row(layer, "on" if on else "off", PURPOSE[layer] if on else f"not available here: {PURPOSE[layer]}")
        )
    return [*facts, *_commands()]


def _commands() -> list[Row]:
    """How commands of `bash` and `git` are confined, and what stands in the way of something stronger."""
    try:
        found = probe()
    except ToolError as error:
        return [Row("command sandbox", "off", f"bash refuses every call: {error.message}")]
    rows = [Row("command sandbox", "on", found.explain)]
    rows += [Row(f"  not {level}", "off", why) for level, why in found.why_not]
    line = (
        "command lines are judged" if grammar_available() else "bash takes argv only; the extra bash is not installed"
    )
    return [*rows, Row("shell grammar", "ok" if grammar_available() else "off", line)]


def _engine() -> Row:
    try:
        version = importlib.metadata.version("quickjs-ng")
    except importlib.metadata.PackageNotFoundError:
        return Row("engine", "missing", "install quickjs-ng")
    try:
        old = importlib.metadata.version("quickjs")
    except importlib.metadata.PackageNotFoundError:
        return Row("engine", "ok", f"quickjs-ng {version}")
    return Row("engine", "failed", f"quickjs {old} is installed beside quickjs-ng {version}; they overwrite each other")


def _try_out() -> tuple[Ready, float, float]:
    begun = time.monotonic()
    zygote = Zygote()
    try:
        ready = _meet(zygote.fork())
        start_ms = (time.monotonic() - begun) * 1000
        begun = time.monotonic()
        _meet(zygote.fork())
        return ready, start_ms, (time.monotonic() - begun) * 1000
    finally:
        zygote.close()


def _meet(child: Child) -> Ready:
    """What a child says of itself. Raises ProtocolError if it says nothing in time."""
    connection = Connection(host=True, max_frame=64 * 1024)
    end = time.monotonic() + WAIT_S
    introduced = False
    try:
        while select.select([child.sock], [], [], max(0.0, end - time.monotonic()))[0]:
            try:
                if not introduced:
                    introduced = child.receive_introduction()
                data = child.sock.recv(4096)
            except BlockingIOError:
                continue
            if not data:
                break
            for _, payload in connection.receive(data):
                return parse_ready(payload)
    finally:
        child.close()
    raise ProtocolError("the VM process did not start; set PTC_DEBUG=1 to see what it prints")
