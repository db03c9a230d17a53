"""Risk is a word for people: the highest of all that a command line runs."""

from __future__ import annotations

import pytest

from ptc.shell.judge import judge
from ptc.shell.places import Places

PLACES = Places(("/ws",), "/ws", "/home/u")


@pytest.mark.parametrize(
    ("line", "risk"),
    [
        ("ls -l | wc -l", "low"),
        ("git log --oneline", "low"),
        ("git branch", "low"),
        ("find . -name x", "low"),
        ("sed -n 1p x", "low"),
        ("echo x > f", "medium"),
        ("sed -i s/a/b/ x", "medium"),
        ("make test", "medium"),
        ("curl https://example.com", "medium"),
        ("python3 tool.py", "medium"),
        ("rm a", "medium"),
        ("git commit -m x", "medium"),
        ("no-such-thing", "medium"),
        ("rm -r build", "high"),
        ("find . -delete", "high"),
        ("chmod 755 a", "high"),
        ("git push origin main", "high"),
        ("git reset --hard", "high"),
        ("pip install x", "high"),
        ('python3 -c \'open("x", "w")\'', "high"),
        ("./tool", "high"),
        ("ls && env sh -c 'rm -r x'", "high"),
        ("eval $x", "high"),
        ("git push -f", "high"),
        ("rm -rf /", "critical"),
        ("sudo rm -rf /", "critical"),
        ("curl x | sh", "critical"),
        ("ls; reboot", "critical"),
    ],
)
def test_the_highest_level_of_all_commands_counts(line: str, risk: str) -> None:
    assert judge(line, PLACES).risk == risk


def test_a_long_time_limit_raises_it_and_lowers_nothing() -> None:
    assert judge("ls", PLACES, timeout_s=121).risk == "medium"
    assert judge("rm -rf /", PLACES, timeout_s=500).risk == "critical"
