# shellcheck shell=sh
# Sourced by every script: after it, the working directory is the repository and $python is the interpreter of a
# ready environment. Finding an interpreter is all that shell does; the rest is scripts/_env.py.
#
#   PTC_PYTHON   the interpreter to build the environment with (default: the first of python3, python3.14 ... 3.11
#                that is 3.11 or newer)
#   PTC_VENV     the folder of the environment (default: .venv in the repository)

set -eu

# Both are relative to where the user stands, not to the repository.
case ${PTC_VENV:-/} in /*) ;; *) export PTC_VENV="$PWD/$PTC_VENV" ;; esac
case ${PTC_PYTHON:-/} in /*) ;; */*) export PTC_PYTHON="$PWD/$PTC_PYTHON" ;; esac
cd "$(dirname "$0")/.."

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PTC_PYTHON:-}" ]; then
    if ! is_new_enough "$PTC_PYTHON"; then
        echo "ptc: PTC_PYTHON=$PTC_PYTHON is not a Python 3.11 or newer; name another, or unset it." >&2
        exit 1
    fi
    base=$PTC_PYTHON
else
    base=
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if is_new_enough "$candidate"; then
            base=$candidate
            break
        fi
    done
    if [ -z "$base" ]; then
        echo "ptc: no Python 3.11 or newer was found (tried python3, python3.14 to python3.11, python)." >&2
        echo "ptc: install one, or name it: PTC_PYTHON=/path/to/python3.12 $0" >&2
        exit 1
    fi
fi

# shellcheck disable=SC2034 # it is what the sourcing script came for
python=$("$base" scripts/_env.py "$0")

# In another user's checkout, or beside caches that root left, tools keep their state in a folder that goes away again:
# all of them fail on a cache that they cannot write.
for place in . .pytest_cache/v/cache .hypothesis .mypy_cache .ruff_cache; do
    if [ -e "$place" ] && ! [ -w "$place" ]; then
        state=$(mktemp -d)
        trap 'rm -rf "$state"' EXIT
        export HYPOTHESIS_STORAGE_DIRECTORY="$state/hypothesis" MYPY_CACHE_DIR="$state/mypy" RUFF_CACHE_DIR="$state/ruff"
        export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -p no:cacheprovider"
        break
    fi
done
