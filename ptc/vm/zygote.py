"""The process that forks VM children: one per host process, started as `python -I -S -E zygote.py ...`.

It imports the engine and builds one VM once, then forks a child for each program, a few ahead. A child inherits the
finished VM, walks it once while idle (so that the copies of its memory pages are made before a program waits for them),
locks itself down, serves one program and exits. The engine's random seed is shared by all children and used by none:
the prelude replaces every source of randomness by one that the host seeds for each program.

The host talks to the zygote over one seqpacket socket, one datagram a request:

    b"F" + one descriptor     fork; the child owns that descriptor. No answer: the child speaks for itself
    b"S" + pid                exit status of that child. Answer b"S" + status, or b"S-" while it lives
    b"K" + pid                kill that child (only where there is no pidfd). Answer b"K"

So asking for a child costs the host one send and no waiting. The first byte that a child sends carries its own pidfd;
it is sent before any script can run there, so it can be believed.

The zygote reaps at once and remembers the last statuses, so that the host can say how a child died. End of file on a
socket ends whoever holds its other end: no orphan outlives the host, and PR_SET_PDEATHSIG is not used because it fires
when the *thread* that started the process ends.

Everything here runs with an empty environment; it must stay light.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys

# The children inherit what is imported here; nothing is imported after the fork.
PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The largest stack of a script that `ptc.limits` allows, and room for what stands below it.
STACK_BYTES = 8 * 1024**2


def main(engine: str, skip: str) -> None:
    """engine: path of the `_quickjs` extension. skip: comma-separated layers that are not to be applied."""
    os.environ["TZ"] = "UTC0"
    import time  # after the zone is set, before anything asks for local time

    time.tzset()
    os.environ.clear()
    os.umask(0o077)
    sys.path.append(PACKAGE_ROOT)
    _load_engine(engine)
    from ptc.vm.child import Nursery  # needs the path and the engine that were just set

    control = socket.socket(fileno=0)
    Nursery(control, frozenset(name for name in skip.split(",") if name)).serve()


def _disinherit() -> None:
    """Undo what a host hands down and this process cannot live with: a child whose end is ignored or blocked is never
    reaped, a blocked SIGXCPU makes the CPU limit blunt, and a script's recursion must meet the engine's bound before
    the kernel's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    most = STACK_BYTES if hard == resource.RLIM_INFINITY else min(hard, STACK_BYTES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_STACK, (most, hard))


def _load_engine(path: str) -> None:
    from importlib.machinery import ExtensionFileLoader, ModuleSpec  # used once

    loader = ExtensionFileLoader("_quickjs", path)
    module = loader.create_module(ModuleSpec("_quickjs", loader, origin=path))
    loader.exec_module(module)
    sys.modules["_quickjs"] = module


if __name__ == "__main__":
    _disinherit()
    main(*sys.argv[1:])
