"""The corpus' dialect of JavaScript -> this package's.

Names of methods and arguments are the same. One thing differs: `ctx.tool` gives a failed tool's error as a member of
its result and does not reject, so the scripts' helper `t`, which tells success from failure, has to look there.
"""

from __future__ import annotations

from typing import Final

from tests.attacks.cases import CaseError

__all__ = ["translated"]

_HELPER: Final = "async function t(f){try{return {ok:true,v:await f()}}catch(e)"
_OURS: Final = (
    "async function t(f){try{const v=await f();"
    "return v&&v.error&&v.error.code?{ok:false,e:String(v.error.message).slice(0,300)}:{ok:true,v}}catch(e)"
)


def translated(script: str) -> str:
    """The script with its helper, if it has one, replaced; lines stay where they are.

    Raises CaseError for a helper `t` of another text, whose verdicts would be read wrongly.
    """
    if "function t(" in script and _HELPER not in script:
        raise CaseError("the script has a helper t that is not the corpus' own")
    return script.replace(_HELPER, _OURS, 1)
