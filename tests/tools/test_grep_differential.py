"""grep against a plain reading of the same tree, while the tree changes between and during the searches.

The plain reading keeps nothing and knows no packs, batches or listings: it reads every file at every search. Whatever
grep remembers must not show.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ptc.tools import _filecache, _packs, _tree
from ptc.tools.grep import Searcher
from ptc.workspace.local import LocalWorkspace

SKIPPED = {".git", "node_modules", "__pycache__"}
WORDS = ["needle", "Needle", "hay", "straw", "é", "\tx", "", "needlework", "a" * 40]
NAMES = ["a", "b.py", "c.py", "d.txt", "é.py", "-x", ".hid", os.fsdecode(b"\xff.py")]
FOLDERS = ["src", "src/deep", "src/deep/er", "lib", "-dash", ".dot", "node_modules", "new/one"]
OLD = (1_000_000_001, 1_000_000_001)

Found = list[tuple[str, int, str]]


def plainly(
    root: Path, expression: re.Pattern[bytes], glob: str, max_bytes: int, ignored: set[str], hidden: set[str]
) -> Found:
    """(path, line number, text) of every line that matches, in the order of the paths' bytes."""
    found: Found = []
    for folder, folders, names in os.walk(root):
        below = os.path.relpath(folder, root)
        prefix = "" if below == "." else f"{below}/"
        left_out = SKIPPED | ignored
        folders[:] = [name for name in folders if name not in left_out and prefix + name not in hidden]
        for name in names:
            file = Path(folder, name)
            if name in left_out or prefix + name in hidden or file.is_symlink() or not file.is_file():
                continue
            if glob != "*" and not name.endswith(glob[1:]):
                continue
            data = file.read_bytes()
            if len(data) > max_bytes or b"\0" in data[:8_000]:
                continue
            lines = data.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n") if data else []
            for number, line in enumerate(lines, 1):
                if expression.search(line):
                    shown = line.decode("utf-8", "replace").replace("\0", "\ufffd")
                    found.append((prefix + name, number, shown))
    return sorted(found, key=lambda row: (os.fsencode(row[0]), row[1]))


class Tree:
    """A tree that changes in every way a tree can, by a seeded generator."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.root = root
        self.rng = rng
        self.ignored: set[str] = set()
        self.hidden: set[str] = set()
        for folder in FOLDERS:
            (root / folder).mkdir(parents=True, exist_ok=True)
        for _ in range(60):
            self.write()

    def some(self) -> Path:
        return self.root / self.rng.choice(["", *FOLDERS]) / self.rng.choice(NAMES)

    def content(self) -> bytes:
        rng = self.rng
        end = rng.choice(["\n", "\n", "\r\n"])
        lines = [" ".join(rng.choices(WORDS, k=rng.randint(0, 4))) for _ in range(rng.choice([0, 1, 5, 60]))]
        data = (end.join(lines) + rng.choice(["", end])).encode()
        kind = rng.random()
        if kind < 0.08:
            return b"needle\0" + data
        if kind < 0.16:
            return b"hay\n" * 2_100 + b"\0needle\n" + data
        if kind < 0.22:
            return data + b"\n" + b"x\n" * 40_000 + b"needle far behind\n"
        return data

    def write(self) -> None:
        file = self.some()
        if file.is_dir() and not file.is_symlink():
            return
        if os.path.lexists(file) and (file.is_symlink() or not file.is_file()):
            file.unlink()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(self.content())
        if self.rng.random() < 0.5:
            os.utime(file, ns=OLD)

    def swap_letters(self) -> None:
        """Change a file and leave its size and, sometimes, its time as they were."""
        file = self.some()
        if file.is_file() and not file.is_symlink():
            times = file.stat()
            file.write_bytes(file.read_bytes().replace(b"needle", b"nEEdle").replace(b"straw", b"needl"))
            if self.rng.random() < 0.5:
                os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def replace(self) -> None:
        file, other = self.some(), self.root / "other"
        if file.parent.is_dir() and not (file.is_dir() and not file.is_symlink()):
            other.write_bytes(self.content())
            os.utime(other, ns=OLD)
            os.replace(other, file)

    def remove(self) -> None:
        file = self.some()
        if os.path.lexists(file) and (file.is_symlink() or not file.is_dir()):
            file.unlink()

    def link(self) -> None:
        file = self.some()
        if file.is_file() and not file.is_symlink():
            file.unlink()
            file.symlink_to(self.root / "a")

    def pipe(self) -> None:
        file = self.some()
        if file.parent.is_dir() and not os.path.lexists(file):
            os.mkfifo(file)

    def move_folder(self) -> None:
        source, target = (self.root / self.rng.choice(FOLDERS) for _ in range(2))
        if source.is_dir() and target.parent.is_dir() and not target.exists() and source not in target.parents:
            source.rename(target)

    def remove_folder(self) -> None:
        shutil.rmtree(self.root / self.rng.choice(FOLDERS), ignore_errors=True)

    def ignore(self) -> None:
        file = self.root / ".gitignore"
        self.ignored = set(self.rng.sample(["b.py", "deep", "lib", "d.txt"], k=self.rng.randint(0, 2)))
        if self.ignored:
            file.write_text("".join(f"{name}\n" for name in self.ignored))
        else:
            file.unlink(missing_ok=True)

    def hide(self) -> None:
        self.hidden = set(self.rng.sample(["a", "src/a", "src/deep", "lib/c.py"], k=self.rng.randint(0, 2)))

    def change(self) -> None:
        often = [self.write, self.swap_letters, self.swap_letters, self.replace, self.remove]
        seldom = [self.link, self.pipe, self.move_folder, self.remove_folder, self.ignore, self.hide]
        self.rng.choice(often if self.rng.random() < 0.7 else seldom)()


PATTERNS: list[tuple[dict[str, Any], re.Pattern[bytes]]] = [
    ({"pattern": "needle"}, re.compile(b"needle")),
    ({"pattern": "needle", "ignore_case": True}, re.compile(b"needle", re.IGNORECASE)),
    ({"pattern": "^needle( |$)"}, re.compile(b"^needle( |$)")),
    ({"pattern": "a{40}"}, re.compile(b"a{40}")),
    ({"pattern": "a" * 40}, re.compile(b"a" * 40)),
    ({"pattern": "é", "fixed_strings": True}, re.compile("é".encode())),
    ({"pattern": "^$"}, re.compile(b"^$")),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_bytes", [_filecache.MAX_BYTES, 100_000])
def test_every_search_of_a_tree_that_changes_finds_what_a_plain_reading_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, max_bytes: int
) -> None:
    rng = random.Random(seed)
    if max_bytes < _filecache.MAX_BYTES:
        # Everything small: batches end within folders, packs are dropped in the middle of a search.
        monkeypatch.setattr(_filecache.FileCache.__init__, "__defaults__", (max_bytes,))
        monkeypatch.setattr(_packs, "PACK_BYTES", 50_000)
        monkeypatch.setattr(_packs, "SMALL_PACK_BYTES", 5_000)
        monkeypatch.setattr(_tree, "_BATCH_FILES", 7)
        monkeypatch.setattr(_tree, "_BATCH_BYTES", 9_000)
    tree = Tree(tmp_path, rng)
    searcher = Searcher(lambda path: path in tree.hidden)
    with LocalWorkspace(tmp_path) as workspace:
        for _ in range(60):
            for _ in range(rng.choice([0, 1, 1, 4])):
                tree.change()
            args, expression = rng.choice(PATTERNS)
            glob, most = rng.choice(["*", "*", "*.py"]), rng.choice([10**7, 10**7, 20_000])
            result = searcher.search(workspace, {**args, "glob": glob, "max_file_bytes": most}, lambda: False)
            assert not result.truncated
            found = [(row["path"], row["line"], row["text"]) for row in result.data]
            assert found == plainly(tmp_path, expression, glob, most, tree.ignored, tree.hidden)


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can, so that what they share is met in the middle of a change."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(*actions: Callable[[], object]) -> None:
    """Run the actions in threads; the first error is raised here."""
    errors: list[BaseException] = []

    def guarded(action: Callable[[], object]) -> None:
        try:
            action()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


@pytest.mark.usefixtures("switching")
def test_searches_at_once_over_small_packs_find_what_one_alone_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_filecache.FileCache.__init__, "__defaults__", (60_000,))
    monkeypatch.setattr(_packs, "PACK_BYTES", 20_000)
    monkeypatch.setattr(_tree, "_BATCH_FILES", 5)
    for number in range(120):
        zeros = b"\0" if number % 9 == 4 else b""
        (tmp_path / f"f{number:03}").write_bytes(b"needle %d\n" % number * (1 + number % 50) + zeros)
    searcher = Searcher()
    expected = {
        word: plainly(tmp_path, re.compile(word.encode()), "*", 10**7, set(), set()) for word in ("needle", "7")
    }
    with LocalWorkspace(tmp_path) as workspace:

        def search(word: str) -> None:
            for _ in range(3):
                rows = searcher.search(workspace, {"pattern": word}, lambda: False).data
                assert [(row["path"], row["line"], row["text"]) for row in rows] == expected[word]

        at_once(*(lambda word=word: search(word) for word in ("needle", "7") * 3))


@pytest.mark.usefixtures("switching")
def test_while_files_are_written_no_line_is_given_for_a_file_that_never_held_it(tmp_path: Path) -> None:
    files = [tmp_path / f"f{number}" for number in range(40)]
    for file in files:
        file.write_text(f"{file.name} needle\n")
    stop = threading.Event()

    def write() -> None:
        rng = random.Random(1)
        for generation in itertools.count():
            if stop.is_set():
                return
            file = rng.choice(files)
            text = f"{file.name} needle {generation}\n" * rng.randint(1, 200)
            if rng.random() < 0.5:
                file.write_text(text)
            else:
                (tmp_path / "other").write_text(text)
                os.replace(tmp_path / "other", file)

    searcher = Searcher()
    with LocalWorkspace(tmp_path) as workspace:

        def search() -> None:
            try:
                for _ in range(40):
                    for row in searcher.search(workspace, {"pattern": "needle", "glob": "f*"}, lambda: False).data:
                        assert row["text"].startswith(f"{row['path']} needle")
            finally:
                stop.set()

        at_once(write, search, search)
