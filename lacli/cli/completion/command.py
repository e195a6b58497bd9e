"""`lacli completion`: the shells' scripts, putting one where its shell finds it, and answering what the scripts ask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from lacli.errors import UsageError

app = typer.Typer(add_completion=False, rich_markup_mode=None)

SHELLS = ("bash", "zsh", "fish", "powershell")

_EXAMPLES = """
Examples:

  lacli completion --install

  lacli completion zsh --install

  source <(lacli completion bash)
"""


@app.command(epilog=_EXAMPLES)
def completion(
    shell: Annotated[
        str | None, typer.Argument(metavar="bash|zsh|fish|powershell", help="Default: the shell you are in.")
    ] = None,
    install: Annotated[
        bool,
        typer.Option("--install", help="Have it loaded by each new shell of this kind.", allow_from_autoenv=False),
    ] = False,
) -> None:
    """Print the script that completes lacli's command line in a shell, or install it.

    Commands, options, their values, models, sessions and templates are completed with Tab.
    """
    from lacli.cli.terminal import diagnostics, output

    name = _shell(shell or "")
    if not install:
        output.text(SCRIPTS[name])
        return
    from lacli.cli.completion.install import install as put

    for line in put(name, SCRIPTS[name]):
        diagnostics.note(line)


def answer(arguments: list[str]) -> int:
    """Print one completion per line, its help after a tab. Arguments: how many words are complete, --, the words.

    What the shells' scripts call, and nobody else: `main` sends it here before anything is parsed.
    """
    from lacli.cli.completion.completers import offers
    from lacli.cli.framework import catalog
    from lacli.cli.terminal import output

    try:
        complete, words = int(arguments[0]), arguments[2:]
        found = offers(catalog.root(), words[:complete], words[complete] if len(words) > complete else "")
    except Exception:  # a half-typed command line may be wrong in any way
        return 0
    for offer in found:
        output.line(f"{offer.word}\t{offer.help}".rstrip())
    return 0


def _shell(name: str) -> str:
    """The shell that was named, or the one this runs in."""
    if not name:
        name = _surrounding()
    name = {"pwsh": "powershell"}.get(name.lower(), name.lower())
    if name not in SHELLS:
        raise UsageError(
            f"there is no completion for {name!r}" if name else "it is unknown which shell you are in",
            f"name one of {', '.join(SHELLS)}",
        )
    return name


def _surrounding() -> str:
    import shellingham

    try:
        return str(shellingham.detect_shell()[0])
    except (shellingham.ShellDetectionFailure, OSError, RuntimeError):
        return Path(os.environ.get("SHELL", "")).name


_BASH = r"""# lacli: completion for bash (also the 3.2 of macOS)
_lacli() {
    local line IFS=$' \t\n'
    COMPREPLY=()
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        [ "$line" = ":files" ] && return
        COMPREPLY+=("$line")
    done < <("$1" completion --answer "$((COMP_CWORD - 1))" -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _lacli lacli
"""

_ZSH = r"""#compdef lacli
# lacli: completion for zsh
_lacli() {
    local line
    local -a found
    for line in "${(@f)$("${(Q)words[1]}" completion --answer "$((CURRENT - 2))" -- \
            "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ $line == :files ]] && { _files; return }
        [[ -n $line ]] || continue
        local word=${line%%$'\t'*} help=
        [[ $line == *$'\t'* ]] && help=${line#*$'\t'}
        found+=("${word//:/\\:}:$help")
    done
    _describe -V lacli found
}
if [[ $funcstack[1] == _lacli ]]; then
    _lacli "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _lacli lacli
fi
"""

_FISH = r"""# lacli: completion for fish
function __lacli_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] completion --answer (math (count $words) - 1) -- $words[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = ":files"
        __fish_complete_path "$current"
    else
        printf '%s\n' $lines
    end
end
complete -c lacli -e
complete -c lacli -f -a '(__lacli_complete)'
"""

_POWERSHELL = r"""# lacli: completion for PowerShell
Register-ArgumentCompleter -Native -CommandName lacli -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -le $cursorPosition } | ForEach-Object { $_.ToString() })
    $complete = $words.Count
    if ($wordToComplete -ne '') { $complete -= 1 }
    & $commandAst.CommandElements[0].ToString() completion --answer $complete '--' @words 2>$null | ForEach-Object {
        if ($_ -eq ':files') { return }
        $parts = $_ -split "`t", 2
        $help = if ($parts.Count -gt 1 -and $parts[1]) { $parts[1] } else { $parts[0] }
        [System.Management.Automation.CompletionResult]::new($parts[0], $parts[0], 'ParameterValue', $help)
    }
}
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "powershell": _POWERSHELL}
