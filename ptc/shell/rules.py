"""The commands that every policy refuses: 31 rules, each judged on words and never by searching free text.

They teach: a model that is told which rule it broke, and what would do, writes the next command better than one that
sees a program fail in a sandbox. They are no wall; a program can do what no rule foresees, and the sandbox holds it
then. So a rule would rather miss than stand in the way of `grep 'foo$'`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ptc.shell import git_rules
from ptc.shell.flags import split
from ptc.shell.places import Places
from ptc.shell.unwrap import SHELLS
from ptc.shell.words import Simple

__all__ = ["RULES", "Hit", "broken"]

Check = Callable[[Simple, Places], bool]


class Rule(NamedTuple):
    """id: stable. why: what the command would do, as a clause. instead: what is accepted, as a sentence."""

    id: str
    check: Check
    why: str
    instead: str


class Hit(NamedTuple):
    """A rule that a command broke."""

    rule: Rule
    command: Simple


INTERPRETERS: Final = SHELLS | {"python", "python2", "python3", "perl", "ruby", "node", "php", "lua"}
_DOWNLOADERS: Final = frozenset({"curl", "wget", "fetch", "aria2c", "httpie", "http"})
_DECODERS: Final = frozenset({"base64", "base32", "xxd", "uudecode", "openssl", "gunzip", "zcat"})
_SECRET_FILES: Final = re.compile(
    r"(^|/)\.(ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|git-credentials|pgpass|azure|config/gcloud)(/|$)"
    r"|(^|/)id_(rsa|dsa|ecdsa|ed25519)$|\.(pem|p12|pfx|key)$|(^|/)\.env(\.|$)|/etc/shadow"
)
_LOADER: Final = re.compile(r"(^|/)ld(-linux[^/]*|-musl[^/]*|64|)\.so[.0-9]*$|(^|/)ld\.so$")
# Variables that make an allowed program run other code.
CODE_VARIABLES: Final = re.compile(
    r"LD_\w+|DYLD_\w+|GCONV_PATH|BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS4|IFS|PATH|PYTHON(PATH|STARTUP|HOME)"
    r"|PERL5(LIB|OPT)|PERLLIB|RUBY(OPT|LIB)|NODE_OPTIONS|JAVA_TOOL_OPTIONS|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER"
    r"|ASKPASS|EDITOR|SEQUENCE_EDITOR|PROXY_COMMAND|CONFIG\w*|EXEC_PATH|TEMPLATE_DIR|DIR|WORK_TREE)|PAGER|MANPAGER"
    r"|EDITOR|VISUAL|LESSOPEN|BROWSER"
)
_MINERS: Final = frozenset({"xmrig", "minerd", "cpuminer", "cgminer", "bfgminer", "ethminer", "nbminer", "t-rex"})
_POWER: Final = frozenset(
    {"poweroff", "reboot", "halt", "shutdown", "suspend", "hibernate", "kexec", "rescue", "emergency"}
)


def broken(commands: Sequence[Simple], places: Places) -> list[Hit]:
    """Every rule that one of the commands breaks, in the order of the commands."""
    return [Hit(rule, command) for command in commands for rule in RULES if rule.check(command, places)]


def _rm_protected(c: Simple, p: Places) -> bool:
    flags = split(c.args)
    return c.program == "rm" and flags.has("r", "R", "--recursive") and p.any_protected(flags.operands)


def _rm_no_preserve(c: Simple, p: Places) -> bool:
    return c.program == "rm" and "--no-preserve-root" in c.args


def _find_delete(c: Simple, p: Places) -> bool:
    if c.program != "find":
        return False
    starts = []
    for word in c.args:
        if word.startswith("-") or word in {"(", "!"}:
            break
        starts.append(word)
    if not any(p.system(start) for start in starts):
        return False
    harmful = {"rm", "shred", "mv", *SHELLS}
    runs = [c.args[i + 1] for i, w in enumerate(c.args[:-1]) if w in {"-exec", "-execdir", "-ok", "-okdir"}]
    return "-delete" in c.args or any(name.rsplit("/", 1)[-1] in harmful for name in runs)


def _raw_device(c: Simple, p: Places) -> bool:
    if any(r.writes and p.block_device(r.target) for r in c.redirects):
        return True
    if c.program == "dd":
        return any(word.startswith("of=") and p.block_device(word[3:]) for word in c.args)
    if c.program in {"tee", "cp", "mv"}:
        operands = split(c.args).operands
        return any(p.block_device(word) for word in (operands if c.program == "tee" else operands[-1:]))
    return False


def _mkfs(c: Simple, p: Places) -> bool:
    return c.program in {"mkfs", "mke2fs", "mkswap", "mkdosfs"} or c.program.startswith("mkfs.")


def _partition(c: Simple, p: Places) -> bool:
    if c.program in {"fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk"}:
        return not split(c.args).has("l", "--list", "d", "--dump", "p", "--print") and bool(c.args)
    return c.program == "parted" and "print" not in c.args and not split(c.args).has("l", "--list")


def _wipe(c: Simple, p: Places) -> bool:
    if c.program in {"wipefs", "blkdiscard"}:
        return True
    if c.program == "shred":
        return any(p.protected(word) or p.block_device(word) for word in split(c.args).operands)
    return c.program in {"hdparm", "nvme"} and any("erase" in word or word == "format" for word in c.args)


def _mv_protected(c: Simple, p: Places) -> bool:
    return c.program == "mv" and p.any_protected(split(c.args).operands[:-1])


def _mount(c: Simple, p: Places) -> bool:
    tools = {"mount", "umount", "swapon", "swapoff", "losetup", "cryptsetup"}
    return c.program in tools and bool(split(c.args).operands or split(c.args).has("a", "--all", "--bind", "D"))


def _open_system(c: Simple, p: Places) -> bool:
    if c.program != "chmod":
        return False
    flags = split(c.args)
    words = [word for word in c.args if not word.startswith("--")]
    mode = next((word for word in words if re.fullmatch(r"[0-7]{3,4}|[ugoa]*[-+=][rwxXstugo,=+-]*", word)), "")
    opens = bool(re.fullmatch(r"[0-7]?[0-7]{2}[2367]", mode) or re.search(r"(^|,)[goa]*[oa][goa]*[+=]\w*w", mode))
    wide = opens or (mode.startswith("+") and "w" in mode)
    return (flags.has("R", "--recursive") or wide) and p.any_protected(flags.operands)


def _setid(c: Simple, p: Places) -> bool:
    if c.program not in {"chmod", "install"}:
        return False
    words = [word.removeprefix("--mode=").removeprefix("-m") for word in c.args]
    return any(re.fullmatch(r"[2467][0-7]{3}", word) or re.search(r"(^|,)[ugoa]*[+=]\w*s", word) for word in words)


def _chown_system(c: Simple, p: Places) -> bool:
    flags = split(c.args)
    return c.program in {"chown", "chgrp"} and flags.has("R", "--recursive") and p.any_protected(flags.operands[1:])


def _caps(c: Simple, p: Places) -> bool:
    if c.program == "setcap":
        return not split(c.args).has("h", "--help")
    return c.program in {"chattr", "setfacl"} and p.any_protected(split(c.args).operands)


def _escalate(c: Simple, p: Places) -> bool:
    return c.program in {"sudo", "doas", "su", "pkexec", "runuser", "run0", "sudoedit", "gosu", "su-exec"}


def _namespace(c: Simple, p: Places) -> bool:
    return c.program in {"unshare", "nsenter", "chroot", "setpriv", "capsh", "pivot_root", "bwrap"}


def _account(c: Simple, p: Places) -> bool:
    tools = {
        "passwd",
        "chpasswd",
        "visudo",
        "vipw",
        "useradd",
        "userdel",
        "usermod",
        "groupadd",
        "groupdel",
        "groupmod",
    }
    return c.program in tools | {"adduser", "deluser", "addgroup", "delgroup", "chsh", "chfn", "gpasswd"}


def _power(c: Simple, p: Places) -> bool:
    if c.program in {"shutdown", "reboot", "halt", "poweroff", "telinit"}:
        return True
    if c.program == "init":
        return any(word in {"0", "6"} for word in c.args)
    return c.program in {"systemctl", "loginctl"} and any(word in _POWER for word in split(c.args).operands)


def _kernel(c: Simple, p: Places) -> bool:
    if c.program in {"insmod", "rmmod", "kexec", "depmod"} or (c.program == "modprobe" and c.args):
        return True
    if c.program == "sysctl":
        return split(c.args).has("w", "--write", "p", "--load") or any("=" in word for word in c.args)
    targets = [r.target for r in c.redirects if r.writes] + (list(c.args) if c.program in {"tee", "dd"} else [])
    return any(re.search(r"/proc/sys/|/proc/sysrq|/sys/(module|kernel|power)", target) for target in targets)


def _service(c: Simple, p: Places) -> bool:
    words = set(split(c.args).operands)
    if c.program == "systemctl":
        return bool(words & {"stop", "disable", "mask", "kill", "isolate", "set-default"})
    if c.program == "service":
        return "stop" in words
    if c.program == "crontab":
        return not split(c.args).has("l")
    return c.program in {"at", "batch"} and not split(c.args).has("l", "V")


def _pids(c: Simple) -> list[str]:
    """The processes that a `kill` is for; a signal that is given as an option is none of them."""
    args = list(c.args)
    if args[:1] and args[0] in {"-s", "-n", "--signal"}:
        args = args[2:]
    elif args[:1] and re.fullmatch(r"-(\d+|[A-Z]+\d*)", args[0]) and len(args) > 1:
        args = args[1:]
    return [word for word in args if word != "--"]


def _kill_all(c: Simple, p: Places) -> bool:
    return c.program == "killall5" or (c.program == "kill" and any(word in {"1", "-1"} for word in _pids(c)))


def _kill_broad(c: Simple, p: Places) -> bool:
    if c.program not in {"pkill", "killall"}:
        return False
    flags = split(c.args)
    by_user = flags.has("u", "U", "--euid", "--uid", "--user")
    strong = any(word in {"-9", "-KILL", "-SIGKILL", "--signal=KILL", "--signal=9"} for word in c.args)
    return by_user or strong or any(word in {".", ".*", "", "*"} for word in flags.operands)


def _never(c: Simple, p: Places) -> bool:
    return False  # it is found where functions are read, see syntax.py


def _reads_from(c: Simple, programs: frozenset[str]) -> bool:
    source = c.piped_from
    while source is not None:
        if source.program in programs:
            return True
        source = source.piped_from
    return False


def _fed_by(c: Simple, programs: frozenset[str]) -> bool:
    """Whether what one of the programs prints is run by an interpreter, by a pipe or as its argument."""
    if c.program in INTERPRETERS and _reads_from(c, programs):
        return True
    outer = c.inside
    runs = INTERPRETERS | {"eval", "source", "."}
    return c.program in programs and outer is not None and outer.program in runs


def _pipe_exec(c: Simple, p: Places) -> bool:
    return _fed_by(c, _DOWNLOADERS)


def _dev_tcp(c: Simple, p: Places) -> bool:
    words = [*c.words, *(r.target for r in c.redirects), *(value for _, value in c.assigned)]
    return any("/dev/tcp/" in word or "/dev/udp/" in word for word in words)


def _nc_exec(c: Simple, p: Places) -> bool:
    if c.program in {"nc", "ncat", "netcat", "nc.openbsd", "nc.traditional"}:
        return split(c.args).has("e", "c", "--exec", "--sh-exec", "--lua-exec")
    return c.program == "socat" and any(re.match(r"(?i)(exec|system|shell):", word) for word in c.args)


def _exfil(c: Simple, p: Places) -> bool:
    if c.program not in {"curl", "wget", "nc", "ncat", "scp", "rsync", "ftp", "http"}:
        return False
    words = [re.sub(r"^(--?[\w-]+=)?@?|^[\w.-]+=@", "", word) for word in c.args]
    words += [r.target for r in c.redirects if r.op == "<"]
    return any(_SECRET_FILES.search(word) for word in words)


def _miner(c: Simple, p: Places) -> bool:
    return c.program.lower() in _MINERS or any(re.match(r"stratum(\+\w+)?://", word) for word in c.args)


def _loader(c: Simple, p: Places) -> bool:
    return any(CODE_VARIABLES.fullmatch(name) for name, _ in c.assigned) or bool(c.words and _LOADER.search(c.words[0]))


def _decode(c: Simple, p: Places) -> bool:
    return _fed_by(c, _DECODERS)


def _git_config(c: Simple, p: Places) -> bool:
    return c.program == "git" and git_rules.runs_programs(c.args)


def _git_destroy(c: Simple, p: Places) -> bool:
    return c.program == "git" and git_rules.destroys_remote(c.args)


_INSIDE: Final = "Name files and folders inside the workspace, for example `rm -r build`."
_HOST: Final = "Leave it out; what the machine itself needs is the host's to do."
RULES: Final = (
    Rule("fs.rm_protected", _rm_protected, "it would remove a system folder, the home or the workspace", _INSIDE),
    Rule("fs.rm_nopreserve", _rm_no_preserve, "it would remove even the root of the file system", _INSIDE),
    Rule("fs.find_delete", _find_delete, "it would remove files of the system or above the workspace",
         "Start find inside the workspace, for example `find . -name '*.pyc' -delete`."),
    Rule("fs.raw_device", _raw_device, "it would overwrite a disk", "Write to a file in the workspace."),
    Rule("fs.mkfs", _mkfs, "it would make a file system over what a disk holds", _HOST),
    Rule("fs.partition", _partition, "it would change the partitions of a disk", "`fdisk -l` lists them."),
    Rule("fs.wipe", _wipe, "it would wipe a disk or a protected file", _INSIDE),
    Rule("fs.mv_protected", _mv_protected, "it would move a system folder, the home or the workspace itself", _INSIDE),
    Rule("fs.mount", _mount, "it would change what is mounted", "`mount` without operands lists what is."),
    Rule("perm.open_system", _open_system, "it would change the rights of the system, the home or the whole workspace",
         "Name single files inside the workspace, for example `chmod 755 tool.sh`."),
    Rule("perm.setid", _setid, "it would let a program run with another user's rights",
         "`chmod 755 FILE` makes it a program."),
    Rule("perm.chown_system", _chown_system, "it would change the owner of system files", _INSIDE),
    Rule("perm.caps", _caps, "it would change capabilities or attributes of the system", _HOST),
    Rule("priv.escalate", _escalate, "it would run with another user's rights",
         "Run the command itself, without sudo."),
    Rule("priv.namespace", _namespace, "it would leave the view of the machine that it is given", _HOST),
    Rule("priv.account", _account, "it would change users or passwords", _HOST),
    Rule("sys.power", _power, "it would stop the machine", _HOST),
    Rule("sys.kernel", _kernel, "it would change the kernel", _HOST),
    Rule("sys.service", _service, "it would stop services or leave work to be done later",
         "`systemctl status NAME` looks."),
    Rule("sys.kill_all", _kill_all, "it would end every process", "Name the one process, for example `kill 1234`."),
    Rule("sys.kill_broad", _kill_broad, "it would end processes that it does not name",
         "Name the program, for example `pkill node`."),
    Rule("sys.fork_bomb", _never, "it would start processes without end", _HOST),
    Rule("net.pipe_exec", _pipe_exec, "it would run what comes from the network, unseen",
         "Download to a file (`curl URL -o a.sh`), read it, then run it."),
    Rule("net.dev_tcp", _dev_tcp, "it would open a connection through the shell", "Use web_fetch, or curl."),
    Rule("net.nc_exec", _nc_exec, "it would hand a shell to the network", _HOST),
    Rule("net.exfil", _exfil, "it would send a file of keys or passwords away", "Send other files only."),
    Rule("misc.miner", _miner, "it would mine a currency", _HOST),
    Rule("exec.loader", _loader, "it would make a program run other code than its own",
         "Leave the variable out, or run the program by its name."),
    Rule("exec.decode", _decode, "it would run code that nobody can read", "Decode to a file, read it, then run it."),
    Rule("git.config_exec", _git_config, "these options make git run other programs",
         "Use git without them, for example `git -c core.pager=cat log`."),
    Rule("git.destroy_remote", _git_destroy, "it would destroy commits of a remote repository",
         "Push without force, for example `git push origin main`."),
)  # fmt: skip
