"""Putting a completion script where its shell loads it: a file of its own, and a line in the shell's start file.

Repeating it changes nothing; what is changed is said.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from lacli.configuration.write import replace
from lacli.errors import UsageError

_MARK = "# lacli completion"


def install(shell: str, script: str) -> list[str]:
    """Install, and say what was done, a line each."""
    said: list[str] = []
    target = _script_file(shell)
    if _text(target) == script:
        said.append(f"{target} is there already")
    else:
        replace(target, script.encode(), private=False)
        said.append(f"wrote {target}")
    start = _start_file(shell)
    if start is None:
        return [*said, "new shells complete lacli with Tab"]
    line = f"{_loading(shell, target)}  {_MARK}"
    before = _text(start) or ""
    if line in before.splitlines():
        said.append(f"{start} loads it already")
    else:
        kept = [each for each in before.splitlines(keepends=True) if not each.rstrip().endswith(_MARK)]
        text = "".join(kept)
        replace(start, f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n".encode(), private=False)
        said.append(f"added a line to {start}: {line}")
    return [*said, "new shells complete lacli with Tab"]


def _text(path: Path) -> str | None:
    """The text of a file; None if it does not exist."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(f"{path} cannot be read: {reason}", "put the script there by hand") from None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise UsageError("there is no home folder to install for", "set HOME") from None


def _below(variable: str, *default: str) -> Path:
    """The folder a variable names, or its default below the home folder."""
    named = os.environ.get(variable, "")
    return Path(named) if os.path.isabs(named) else _home().joinpath(*default)


def _script_file(shell: str) -> Path:
    if shell == "fish":
        return _below("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "lacli.fish"
    data = _below("XDG_DATA_HOME", ".local", "share")
    if shell == "bash":  # where the package bash-completion would find it as well
        return data / "bash-completion" / "completions" / "lacli"
    return data / "lacli" / {"zsh": "completion.zsh", "powershell": "completion.ps1"}[shell]


def _start_file(shell: str) -> Path | None:
    """The file the shell runs at its start; None where it looks for scripts by itself."""
    if shell == "bash":
        return _home() / ".bashrc"
    if shell == "zsh":
        return _below("ZDOTDIR") / ".zshrc"
    return _profile() if shell == "powershell" else None


def _profile() -> Path:
    """What PowerShell calls $PROFILE; it is asked, as it knows where a Documents folder has gone."""
    for program in ("pwsh", "powershell"):
        try:
            asked = subprocess.run(
                [program, "-NoProfile", "-Command", "$PROFILE"], capture_output=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if name := asked.stdout.decode(errors="replace").strip():
            return Path(name)
    if os.name == "nt":
        return _home() / "Documents" / "PowerShell" / "Microsoft.PowerShell_profile.ps1"
    return _below("XDG_CONFIG_HOME", ".config") / "powershell" / "Microsoft.PowerShell_profile.ps1"


def _loading(shell: str, script: Path) -> str:
    """The line that loads it, harmless where the script has been removed."""
    if shell == "powershell":
        quoted = str(script).replace("'", "''")
        return f"if (Test-Path '{quoted}') {{ . '{quoted}' }}"
    quoted = "'" + str(script).replace("'", "'\\''") + "'"
    return f"[ -r {quoted} ] && . {quoted}"
