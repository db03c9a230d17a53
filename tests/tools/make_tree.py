"""A deterministic tree of source-like files, for tests (small) and for scripts/bench_grep.py (7,000 files)."""

from __future__ import annotations

import random
from pathlib import Path

NEEDLE = "class Policy(Base):"


def make_tree(root: Path, files: int, seed: int = 1) -> int:
    """Write `files` files below `root`, ten to a folder on average, 8 KiB each; about 2 % of them hold `NEEDLE` once.

    Returns the number of files that hold it. The same arguments give the same tree.
    """
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz_", k=rng.randint(3, 10))) for _ in range(2_000)]
    folders = [root]
    root.mkdir(parents=True, exist_ok=True)
    for number in range(1, max(1, files // 10)):
        folder = rng.choice(folders[-200:]) / f"{rng.choice(words)}{number}"
        if len(folder.parts) - len(root.parts) > 8:
            folder = root / folder.name
        folder.mkdir()
        folders.append(folder)
    needles = 0
    for number in range(files):
        lines = [
            " " * (4 * rng.randint(0, 3)) + " ".join(rng.choices(words, k=rng.randint(1, 9)))
            for _ in range(rng.randint(10, 350))
        ]
        if rng.random() < 0.02:
            lines[len(lines) // 2] = NEEDLE
            needles += 1
        name = f"{rng.choice(words)}{number}.{rng.choice(['py', 'py', 'py', 'js', 'md'])}"
        (rng.choice(folders) / name).write_text("\n".join(lines) + "\n")
    return needles
