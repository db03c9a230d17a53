"""The inside of a VM process: QuickJS and the guest's side of the protocol, as a function from message to message.

`Guest` is pure: a START or SETTLE payload goes in, a TURN or DONE message comes out; it owns no socket. So the same
code runs in a hardened child process and, for tests, in this process. It moves JSON text between the socket and the
engine and parses none of it, except the small START record.

Reasons for what looks odd, each measured against the binding (quickjs-ng 0.17):
- the engine's time limit is re-armed at every entry, so what is left is set before each turn and again whenever
  some time has passed;
- with a time limit set the engine cannot call Python, so nothing here is ever called from inside the VM;
- an exception that reaches this file comes from the engine (interrupt, exhausted heap, syntax): the prelude converts
  those of the script inside the VM, under the limit; the text `null` means that the heap was exhausted;
- a string is cut at NUL, so a source with NUL is refused by the host before it gets here.

This file and what it imports run in the VM process: it must stay light (no dataclasses, no regular expressions).
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable

import _quickjs

from ptc.protocol.machine import DONE, SETTLE_BIG, TURN

__all__ = ["Guest", "load_prelude"]

# More lines than any script can have; a frame beyond it belongs to the prelude.
USER_LINES = 300_000
ENTRY_SUFFIX = "\nexport{run as ptc$run}"
SETUP, BEGIN, SETTLED, SETTLED_BIG, TAKE, CUT_SHORT = range(6)
# What the prelude is given to tell what it knows of a script that the engine has ended.
LAST_WORDS_S = 0.25
LAST_WORDS_BYTES = 32 * 1024**2
# What the prelude holds of the heap before the script begins.
PRELUDE_BYTES = 512 * 1024
# What the frames of Python below the engine may take of the process's stack.
STACK_RESERVE = 256 * 1024
# The engine re-arms its limit at every job, so what is left is set anew when this much time has passed.
CHECK_EVERY_S = 0.005
# A binding that cannot turn what it got into text or a value raises whatever Python has for that.
ENGINE_ERRORS = (_quickjs.JSException, MemoryError, UnicodeError, SystemError, TypeError)
NO_NOTES = {"logs": [], "lost": 0, "progress": [], "warnings": [], "flooded": 0}


def load_prelude() -> str:
    """The prelude as one expression whose value is the function `enter`; its files are joined in order of name.

    Comments and indentation are left out: every child compiles this text anew.
    """
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prelude")
    parts: list[str] = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".js"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                lines = (line.strip() for line in file)
                parts.extend(line + "\n" for line in lines if line and not line.startswith("//"))
    body = "".join(parts).replace("PTC_USER_LINES", str(USER_LINES))
    return "\n" * USER_LINES + "(function () {'use strict';" + body + "})()"


class Guest:
    """One VM for one program. Build it, `start` it, then `settle` until a DONE comes out.

    prelude: the text of `load_prelude()`.
    """

    def __init__(self, prelude: str) -> None:
        self._context = _quickjs.Context()
        self._enter = self._context.eval(prelude)
        self._cpu_end = 0.0
        self._cpu_start = 0.0
        self._cpu_ms = 0
        self._memory_bytes = 0
        self._peak_before = 0
        # CPU seconds that this process has spent on other things than the script; kept by whoever runs the guest.
        self.idle_s = 0.0

    def warm(self) -> None:
        """Walk the whole heap once: after a fork this makes the private copies of its pages before they are needed."""
        self._context.gc()

    def start(self, payload: bytes, bound: Callable[[int, int], None] | None = None) -> tuple[str, bytes]:
        """Run the program of a START payload until it is idle or ends.

        bound: called with (memory_bytes, cpu_ms) before anything of the program runs; sets the process's own fences.
        """
        start = json.loads(payload)
        limits = start["limits"]
        self._memory_bytes = limits["memory_bytes"]
        self._cpu_ms = limits["cpu_ms"]
        if bound is not None:
            bound(self._memory_bytes, self._cpu_ms)
        self._peak_before = _peak_bytes()
        self._cpu_start = time.process_time() - self.idle_s
        self._cpu_end = self._cpu_start + self._cpu_ms / 1000
        try:
            self._enter(SETUP, start["setup"])
            self._context.set_memory_limit(self._memory_bytes)
            self._context.set_max_stack_size(_stack_bytes(limits["stack_bytes"]))
            self._arm()
            self._load(start["source"])
            self._arm()
            self._enter(BEGIN, "")
            return self._run()
        except ENGINE_ERRORS as error:
            return self._engine_end(error)

    def settle(self, kind: str, payload: bytes) -> tuple[str, bytes]:
        """Give the answers of a SETTLE payload to the script and run it until it is idle or ends."""
        try:
            self._arm()
            self._enter(SETTLED_BIG if kind == SETTLE_BIG else SETTLED, payload.decode("utf-8", "surrogatepass"))
            return self._run()
        except ENGINE_ERRORS as error:
            return self._engine_end(error)

    def _load(self, source: str) -> None:
        """Compile and evaluate the module. An unexported top-level `run` is exported by a line after the script's own;
        if that cannot be compiled there is no such `run`, or the script itself is wrong: then it is compiled alone."""
        try:
            self._context.module(source + ENTRY_SUFFIX)
        except _quickjs.JSException as error:
            if not str(error).startswith("SyntaxError"):
                raise
            self._context.module(source)

    def _run(self) -> tuple[str, bytes]:
        job = self._context.execute_pending_job
        clock = time.monotonic
        checked = clock()
        while True:
            while job():
                if clock() - checked > CHECK_EVERY_S:
                    self._arm()
                    checked = clock()
            if clock() - checked > CHECK_EVERY_S:
                self._arm()
            text = self._enter(TAKE, "full" if self._heap_was_full() else "")
            if text[0] == "P":
                continue
            body = text[1:].encode("utf-8", "surrogatepass")
            if text[0] == "T":
                return TURN, body
            return DONE, b'{"usage":' + self._usage() + b',"end":' + body + b"}"

    def _arm(self) -> None:
        left = self._cpu_end + self.idle_s - time.process_time()
        if left <= 0:
            raise _quickjs.JSException("InternalError: interrupted")
        self._context.set_time_limit(left)

    def _heap_was_full(self) -> bool:
        """Without room for an Error the engine throws null, or drops a job in silence; a script can do what looks like
        both, so the process is asked. False as long as there is doubt."""
        return _peak_bytes() - self._peak_before > (self._memory_bytes - PRELUDE_BYTES) // 2

    def _usage(self) -> bytes:
        cpu_ms = max(0.0, time.process_time() - self._cpu_start - self.idle_s) * 1000
        return b'{"cpu_ms":%.3f,"peak_memory_bytes":%d}' % (cpu_ms, _peak_bytes())

    def _engine_end(self, cause: Exception) -> tuple[str, bytes]:
        """The DONE of a script that the engine ended."""
        text = str(cause) if isinstance(cause, _quickjs.JSException) else "null"
        head, _, tail = text.partition("\n")
        kind, message = "script", head
        if not isinstance(cause, (_quickjs.JSException, MemoryError)):
            kind, message = "crashed", f"the engine gave an exception that cannot be shown ({type(cause).__name__})"
        elif head.endswith("interrupted"):
            kind, message = "cpu", "the CPU time limit passed"
        elif head == "null" or head.endswith("out of memory"):
            kind, message = "memory", "out of memory"
        elif head.startswith("SyntaxError"):
            kind, message = "syntax", head.removeprefix("SyntaxError: ")
        elif head.startswith("ReferenceError: could not load module"):
            kind, message = "entry", head.removeprefix("ReferenceError: ")
        elif "call stack" in head:
            kind, message = "stack", head
        line, column = _place(tail)
        error: dict[str, object] = {
            "kind": kind,
            "name": None,
            "message": message[:4000],
            "stack": None,
            "line": line,
            "column": column,
            "code": None,
        }
        return DONE, b'{"usage":' + self._usage() + b',"end":' + self._last_words(error) + b"}"

    def _last_words(self, error: dict[str, object]) -> bytes:
        """The end with the console lines and calls of the turn that was cut short, or without them if the heap is in no
        state to tell: the prelude may have been stopped in the middle of anything, so what it says is checked."""
        try:
            self._context.set_memory_limit(self._memory_bytes + LAST_WORDS_BYTES)
            self._context.set_time_limit(LAST_WORDS_S)
            told: bytes = self._enter(CUT_SHORT, json.dumps(error))[1:].encode()
            json.loads(told)
            return told
        except (*ENGINE_ERRORS, ValueError):
            end: dict[str, object] = {
                "ok": False,
                "value": None,
                "error": error,
                "open": [],
                "held": [],
                "notes": NO_NOTES,
            }
            return json.dumps(end).encode()


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _stack_bytes(asked: int) -> int:
    """A bound above the stack that the process has would end deep recursion by a signal instead of an error."""
    have, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return asked if have == resource.RLIM_INFINITY else min(asked, max(have - STACK_RESERVE, have // 2))


def _place(text: str) -> tuple[int | None, int | None]:
    """Line and column of the first `<input>:L:C` in the engine's text."""
    _, found, rest = text.partition("<input>:")
    if not found:
        return None, None
    numbers = rest.split("\n", 1)[0].rstrip(")").split(":")
    line = int(numbers[0]) if numbers[0].isdigit() else None
    column = int(numbers[1]) if len(numbers) > 1 and numbers[1].isdigit() else None
    return (None, None) if line is None or line > USER_LINES else (line, column)
