"""Makes the environment that the scripts run in, and prints the path of its interpreter: `_env.py SCRIPT`.

Everything a fresh machine may lack is handled here, so that a script is two commands long: a Python without `venv`, a
half-made or foreign folder in the way, two scripts started at once, an index that cannot be reached. An environment
whose stamp fits is used as it stands: nothing is written, so it may belong to another user.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

REPOSITORY = Path(__file__).resolve().parent.parent
VENV = Path(os.environ.get("PTC_VENV") or REPOSITORY / ".venv").absolute()
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".ptc-stamp"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
# The interpreter behind this one: a virtual environment must never be rebuilt by the Python inside of it.
BASE = getattr(sys, "_base_executable", sys.executable)
ELSEWHERE = f"choose another folder: PTC_VENV=~/ptc-venv {sys.argv[-1]}"
HEARTBEAT_S = 15
UNREACHABLE = ("NewConnectionError", "Max retries", "ConnectTimeout", "ReadTimeout", "Name or service", "SSLError")


def say(message: str) -> None:
    print(f"ptc: {message}", file=sys.stderr, flush=True)


def fail(message: str) -> NoReturn:
    say(message)
    sys.exit(1)


def wanted_stamp() -> str:
    """What the environment was built from: the project file, and the place of the sources."""
    project = hashlib.sha256((REPOSITORY / "pyproject.toml").read_bytes()).hexdigest()
    return f"{project}\n{REPOSITORY}\n"


def usable() -> bool:
    """True if the environment runs, has pip, and is of the Python asked for (any from 3.11 on, if none was)."""
    probe = "import pip, sys; print('%d.%d' % sys.version_info[:2]); sys.exit(sys.version_info < (3, 11))"
    try:
        done = subprocess.run([PYTHON, "-I", "-c", probe], capture_output=True, text=True, check=False)
    except OSError:
        return False
    chosen = "PTC_PYTHON" in os.environ
    return done.returncode == 0 and (not chosen or done.stdout.strip() == VERSION)


def current() -> bool:
    """True if nothing has to be done."""
    try:
        return STAMP.read_text() == wanted_stamp() and usable()
    except OSError:
        return False


@contextmanager
def only_one() -> Iterator[None]:
    """Hold the lock of this environment: one on the folder it lies in, so that it leaves no file and dies with us."""
    try:
        VENV.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(VENV.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        fail(f"{VENV.parent} cannot be used ({error.strerror}); {ELSEWHERE}")
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another script is making the environment; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def mended() -> bool:
    """True if pip was all that the environment lacked: one that was broken off half-made, or made without it."""
    try:
        subprocess.run([PYTHON, "-I", "-m", "ensurepip"], capture_output=True, check=False)
    except OSError:
        return False
    return usable()


def create() -> None:
    """An empty environment at VENV, in place of a broken one. Never clears a folder that is something else."""
    if VENV.exists() and not (VENV / "pyvenv.cfg").exists() and any(VENV.iterdir()):
        fail(f"{VENV} exists and is no virtual environment; it is left alone. Choose another folder with PTC_VENV.")
    say(f"making an environment of Python {VERSION} in {VENV}")
    command = maker()
    done = subprocess.run([*command, "--clear", str(VENV)], capture_output=True, text=True, check=False)
    if done.returncode or not usable():
        sys.stderr.write(done.stdout + done.stderr)
        fail(f"{' '.join(command)} failed; its words stand above.")


def maker() -> list[str]:
    """The command that makes environments: venv, else virtualenv, else venv after installing it where that is easy."""
    if has("ensurepip") and has("venv"):
        return [BASE, "-m", "venv"]
    if has("virtualenv"):
        return [BASE, "-m", "virtualenv", "--quiet"]
    if shutil.which("virtualenv"):
        return ["virtualenv", "--quiet", "--python", BASE]
    package = f"python{VERSION}-venv"
    if shutil.which("apt-get") is None:
        fail(f"this Python {VERSION} has no venv module; install it, or `virtualenv`, or name another with PTC_PYTHON.")
    if os.geteuid() != 0:
        fail(f"this Python {VERSION} has no venv module; run: sudo apt-get install -y {package}")
    say(f"this Python {VERSION} has no venv module; installing the system package {package} with apt-get")
    trouble = apt_install(package)
    if trouble is not None:
        sys.stderr.write(trouble)
        fail(f"apt-get could not install {package}; install it by hand, or name another Python with PTC_PYTHON.")
    return [BASE, "-m", "venv"]


def apt_install(package: str) -> str | None:
    """Install a Debian package without a question; what apt-get said, if it failed."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        for step in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", package]):
            done = subprocess.run(
                ["apt-get", *step], env=quiet, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
            )
    except OSError as error:
        return f"{error}\n"
    return None if done.returncode == 0 else done.stderr


def has(module: str) -> bool:
    return subprocess.run([BASE, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def install() -> None:
    """Install the project, editable, with what its tests need. pip's words are shown only if it fails."""
    say("installing the packages that pyproject.toml names (once; a minute or two)")
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-e", ".[dev]"]
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        with subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=log, stderr=log) as pip:
            while True:
                try:
                    code = pip.wait(HEARTBEAT_S)
                    break
                except subprocess.TimeoutExpired:
                    say(f"still installing after {time.monotonic() - began:.0f} s")
        log.seek(0)
        words = log.readlines()
    if code == 0:
        say(f"environment ready after {time.monotonic() - began:.0f} s")
        return
    sys.stderr.writelines(words[-25:])
    fail(reason(words))


def reason(words: list[str]) -> str:
    """Why pip failed, from the lines that it wrote."""
    if any(sign in line for line in words for sign in UNREACHABLE):
        return "the package index cannot be reached; check the network, or point pip at a mirror with PIP_INDEX_URL."
    return "pip could not install the packages; its last lines stand above."


def main() -> None:
    if not current():
        with only_one():
            if not current():
                place = VENV if VENV.exists() else VENV.parent
                if not os.access(place, os.W_OK):
                    fail(f"{place} cannot be written; {ELSEWHERE}")
                STAMP.unlink(missing_ok=True)
                if not usable() and not mended():
                    create()
                install()
                STAMP.write_text(wanted_stamp())
    print(PYTHON)


if __name__ == "__main__":
    main()
