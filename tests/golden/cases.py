"""The commands whose every byte is kept in `expected/`. A new command, or another shape of output, is a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lacli.assistant.scripted import ScriptedAssistant
from lacli.errors import LacliError, ModelUnavailable, OutOfMemory, PromptTooLong
from lacli.events import Event, Loading, Notice
from tests.golden import world
from tests.golden.world import World

MARKDOWN = """Use `os.replace`:

```python
import os

os.replace("a", "b")  # atomic
```

| call | when |
|---|---|
| rename | **never** |
| replace | always |

1. It is *atomic*.
2. It works everywhere, on every file system that this computer knows, and a long line wraps.
"""
THOUGHTFUL = ScriptedAssistant(()).reply_events(
    "Use `os.replace`:\n\n```python\nos.replace(a, b)\n```\n",
    "The user wants a *name* changed:\n\n```python\nos.rename(a, b)\n```\n\nNo, that fails where b is there.\n",
)
REWRITTEN = "```python\n" + world.A_PY.replace("os.rename", "os.replace") + "```\n"
OPENING = (
    Loading("fetch", 40_000_000, 93_000_000),
    Notice("smollm2-135m: a note about the model"),
    Loading("load"),
)
BATCH = b'"first"\n{"prompt": "second", "id": "b", "max_tokens": 5}\n'
Setup = Callable[[World], None]


@dataclass(frozen=True)
class Case:
    """A command line, and what it meets."""

    name: str
    """`command/what`, also the place of its files."""
    arguments: Sequence[str]
    kind: str = "txt"
    """The ending of its stdout's file."""
    scripts: Sequence[Any] = ("hello world",)
    stdin: bytes | None = None
    setups: Sequence[Setup] = ()
    code: int = 0
    opening: Sequence[Event] = ()
    leaves: str = ""
    """A file whose content is kept, too."""
    has_escapes: bool = False
    """Whether its stdout has escape sequences: those of the reply or of the log, which a pipe gets as they are."""


FILES = (world.files,)
LOG = (world.log,)
TEMPLATES = (world.templates,)
INSTRUCTIONS = (world.files, world.instructions)

CASES = (
    Case("lacli/bare", []),
    Case("lacli/version", ["--version"]),
    Case("lacli/unknown", ["aks", "hi"], code=2),
    # ask
    Case("ask/words", ["ask", "hi"]),
    Case("ask/markdown", ["ask", "how"], "md", [MARKDOWN]),
    Case("ask/markdown-plain", ["ask", "--plain", "how"], "md", [MARKDOWN]),
    Case("ask/markdown-no-colour", ["ask", "--color", "never", "how"], "md", [MARKDOWN]),
    Case("ask/thought", ["ask", "how"], "md", [THOUGHTFUL]),
    Case("ask/thought-plain", ["ask", "--plain", "how"], "md", [THOUGHTFUL]),
    Case("ask/thought-only", ["ask", "how"], "md", [ScriptedAssistant(()).reply_events("", "Hm.")]),
    Case("ask/thought-no-stream", ["ask", "-S", "how"], "md", [THOUGHTFUL]),
    Case("ask/no-stream", ["ask", "-S", "how"], "md", [MARKDOWN]),
    Case("ask/thought-extract", ["ask", "-x", "how"], "py", [THOUGHTFUL]),
    Case("ask/thought-json", ["ask", "--json", "how"], "json", [THOUGHTFUL]),
    Case("ask/thought-jsonl", ["ask", "--jsonl", "how"], "jsonl", [THOUGHTFUL]),
    Case("chat/thought", ["chat"], scripts=[THOUGHTFUL], stdin=b"how?\n"),
    Case("ask/quiet", ["ask", "-q", "hi"], opening=OPENING),
    Case("ask/opening", ["ask", "hi"], opening=OPENING),
    Case("ask/verbose", ["ask", "-v", "hi"]),
    Case("ask/usage", ["ask", "-u", "hi"]),
    Case("ask/stats", ["ask", "--stats", "hi"]),
    Case("ask/json", ["ask", "--json", "hi"], "json"),
    Case("ask/jsonl", ["ask", "--jsonl", "hi"], "jsonl"),
    Case("ask/extract", ["ask", "-x", "how"], "py", [MARKDOWN]),
    Case("ask/extract-none", ["ask", "--xl", "how"], scripts=["no code at all"]),
    Case("ask/controls", ["ask", "hi"], scripts=["\x1b[31mred\x1b]0;title\x07 \a bell"], has_escapes=True),
    Case("ask/sanitize", ["ask", "--sanitize", "hi"], scripts=["\x1b[31mred\x1b]0;title\x07 \a bell"]),
    Case("ask/nothing", ["ask", "hi"], scripts=[""]),
    Case("ask/output", ["ask", "-o", "reply.md", "how"], scripts=[MARKDOWN], leaves="reply.md"),
    Case("ask/dry-run", ["ask", "--dry-run", "-s", "Be terse.", "-f", "a.py", "explain"], setups=FILES),
    Case("ask/dry-run-json", ["ask", "--dry-run", "--json", "explain @a.py"], "json", setups=FILES),
    Case("ask/instructions", ["ask", "--dry-run", "-s", "Be terse.", "hi"], setups=INSTRUCTIONS),
    Case("ask/no-instructions", ["ask", "--dry-run", "--no-instructions", "hi"], setups=INSTRUCTIONS),
    Case("ask/piped", ["ask", "--dry-run", "summarise"], stdin=b"caf\xe9\nline\n"),
    Case("ask/template", ["ask", "--dry-run", "-t", "review", "-p", "role", "poet", "x = 1"], setups=TEMPLATES),
    Case("ask/template-missing", ["ask", "-t", "reveiw", "x"], setups=TEMPLATES, code=2),
    Case("ask/save", ["ask", "--save", "new", "-s", "Short.", "Explain $input"]),
    Case("ask/continue", ["ask", "-c", "and now?"], setups=LOG),
    Case("ask/continue-none", ["ask", "-c", "and now?"]),
    Case("ask/batch", ["ask", "--batch", "-"], "jsonl", ["one", "two words"], BATCH),
    Case("ask/batch-output", ["ask", "--batch", "-", "-o", "r.jsonl"], "", ["1", "2"], BATCH, leaves="r.jsonl"),
    Case("ask/batch-mistake", ["ask", "--batch", "-"], stdin=b'"first"\n{"promt": 1}\n', code=2),
    Case("ask/no-prompt", ["ask"], code=2),
    Case("ask/no-file", ["ask", "-f", "gone.py", "hi"], code=2),
    Case("ask/no-option", ["ask", "--tempreature", "0", "hi"], code=2),
    Case("ask/out-of-range", ["ask", "--top-p", "2", "hi"], code=2),
    Case("ask/failed", ["ask", "hi"], scripts=[LacliError("the reply failed", "ask again")], code=1),
    Case("ask/unavailable", ["ask", "hi"], scripts=[ModelUnavailable("x is gated", "accept it")], code=3),
    Case("ask/memory", ["ask", "hi"], scripts=[OutOfMemory("x needs 9.9 GB", "free some")], code=4),
    Case("ask/too-long", ["ask", "hi"], scripts=[PromptTooLong("prompt 9,000 > 8,192", "--truncate")], code=5),
    # chat
    Case("chat/one-turn", ["chat", "hi"], "md", [MARKDOWN]),
    Case("chat/piped", ["chat"], stdin=b"hi\nthere\n"),
    Case("chat/json", ["chat", "--json", "hi"], "json"),
    Case("chat/usage", ["chat", "-u", "-f", "a.py", "hi"], setups=FILES),
    Case("chat/nothing", ["chat"], code=2, stdin=b""),
    # complete
    Case("complete/text", ["complete", "a.py:5"], "py", ["\n    return new"], setups=FILES),
    Case("complete/full", ["complete", "a.py:5", "--full"], "py", ["\n    return new"], setups=FILES),
    Case("complete/full-crlf", ["complete", "win.py:5", "--full"], "txt", ["\n    return new"], setups=FILES),
    Case("complete/diff", ["complete", "a.py:5", "--diff"], "diff", ["\n    return new"], setups=FILES),
    Case("complete/json", ["complete", "a.py:5:4", "--json"], "json", ["x"], setups=FILES),
    Case("complete/in-place", ["complete", "a.py:5", "--in-place"], "", ["\n    x"], setups=FILES, leaves="a.py"),
    Case("complete/stats", ["complete", "a.py:5", "--stats"], "py", ["\n    return new"], setups=FILES),
    Case("complete/several", ["complete", "a.py:5", "gone.py", "a.py:9"], scripts=["x", "y"], setups=FILES, code=2),
    Case("complete/alternatives", ["complete", "a.py:5", "--alternatives", "3"], scripts=["x", "y", "x"], setups=FILES),
    Case("complete/dry-run", ["complete", "a.py:5", "--dry-run"], setups=FILES),
    Case("complete/stdin", ["complete", "-", "--stdin-filename", "b.go", "--at", "1:7"], "go", ["x"], b"func ()\n"),
    Case("complete/nothing", ["complete", "a.py:5"], scripts=[""], setups=FILES),
    Case("complete/no-line", ["complete", "a.py:99"], setups=FILES, code=2),
    # edit
    Case("edit/diff", ["edit", "a.py", "use os.replace"], "diff", [REWRITTEN], setups=FILES),
    Case("edit/instructions", ["edit", "a.py", "--dry-run", "x"], setups=INSTRUCTIONS),
    Case("edit/full", ["edit", "a.py", "--full", "use os.replace"], "py", [REWRITTEN], setups=FILES),
    Case("edit/range", ["edit", "a.py:5", "--diff", "x"], "diff", ["```\n    os.replace(old, new)\n```"], setups=FILES),
    Case("edit/crlf", ["edit", "win.py", "use os.replace"], "diff", [REWRITTEN], setups=FILES),
    Case("edit/in-place", ["edit", "a.py", "--in-place", "x"], "", [REWRITTEN], setups=FILES, leaves="a.py"),
    Case("edit/json", ["edit", "a.py", "--json", "x"], "json", [REWRITTEN], setups=FILES),
    Case("edit/unchanged", ["edit", "a.py", "x"], "diff", [f"```\n{world.A_PY}```"] * 3, setups=FILES, code=1),
    Case("edit/no-block", ["edit", "a.py", "x"], "diff", ["I would rather not."] * 3, setups=FILES, code=1),
    Case("edit/dry-run", ["edit", "a.py:4-5", "--dry-run", "x"], setups=FILES),
    # serve
    Case("serve/status", ["serve", "--status"], setups=(world.engine,)),
    Case("serve/status-json", ["serve", "--status", "--json"], "json", setups=(world.engine,)),
    Case("serve/status-none", ["serve", "--status"], code=1),
    Case("serve/status-none-json", ["serve", "--status", "--json"], "json", code=1),
    Case("serve/stop-none", ["serve", "--stop"]),
    Case("serve/both", ["serve", "--stop", "--detach"], code=2),
    Case("serve/no-time", ["serve", "--keep-alive", "soon"], code=2),
    # models
    Case("models/list", ["models"]),
    Case("models/list-json", ["models", "list", "--json"], "json"),
    Case("models/list-remote", ["models"], setups=(world.remotes,)),
    Case("models/default-remote", ["models", "default", "remote:gpu"], setups=(world.remotes,)),
    Case("models/show", ["models", "show", "qwen2.5-coder-1.5b"]),
    Case("models/show-json", ["models", "show", "qwen2.5-coder-1.5b", "--json"], "json"),
    Case("models/show-unknown", ["models", "show", "quen2.5-coder-1.5b"], code=3),
    Case("models/pull", ["models", "pull", "starcoder2-3b", "--offline"], code=3),
    Case("models/rm", ["models", "rm", "starcoder2-3b"]),
    Case("models/path", ["models", "path"]),
    Case("models/default", ["models", "default"]),
    Case("models/default-chosen", ["models", "default", "qwen2.5-coder-1.5b"]),
    Case("models/fit", ["models", "fit", "qwen2.5-coder-1.5b"], setups=(world.computer,)),
    Case("models/fit-json", ["models", "fit", "smollm2-135m", "--json"], "json", setups=(world.computer,)),
    # pool
    Case("remote/recipe-vllm", ["remote", "recipe", "vllm", "qwen2.5-coder-7b"]),
    Case("remote/recipe-sglang", ["remote", "recipe", "sglang", "./my model"]),
    Case("remote/recipe-unknown", ["remote", "recipe", "tgi", "x"], code=2),
    Case("ask/remote-unknown", ["ask", "-m", "remote:gp", "hi"], setups=(world.remotes,), code=3),
    Case("pool/none", ["pool"]),
    Case("pool/info", ["pool", "info"], setups=(world.pool,)),
    Case("pool/info-json", ["pool", "info", "--json"], "json", setups=(world.pool,)),
    Case("pool/list", ["pool", "list"], setups=(world.pool,)),
    Case("pool/list-json", ["pool", "list", "--json"], "json", setups=(world.pool,)),
    Case("pool/path", ["pool", "path"]),
    Case("pool/verify", ["pool", "verify"], setups=(world.pool,)),
    Case("pool/build", ["pool", "build"], setups=(world.pool,), code=3),
    Case("pool/prune", ["pool", "prune", "--max-mb", "1"], setups=(world.pool,)),
    Case("pool/clear", ["pool", "clear", "--yes"], setups=(world.pool,)),
    Case("pool/push", ["pool", "push", "remote:gpu"], setups=(world.pool, world.remotes), code=1),
    Case("pool/push-elsewhere", ["pool", "push", "gpu"], setups=(world.pool, world.remotes), code=2),
    Case("pool/export", ["pool", "export", "p.lacli"], setups=(world.pool,)),
    Case("pool/import", ["pool", "import", "gone.lacli"], setups=(world.pool,), code=2),
    # sessions, logs, stats
    Case("sessions/none", ["sessions"]),
    Case("sessions/list", ["sessions", "list", "--all"], setups=LOG, has_escapes=True),
    Case("sessions/list-json", ["sessions", "list", "--json"], "json", setups=LOG),
    Case("sessions/show", ["sessions", "show", "a1"], setups=LOG),
    Case("sessions/show-json", ["sessions", "show", "a1", "--json"], "json", setups=LOG),
    Case("sessions/show-unknown", ["sessions", "show", "ff"], setups=LOG, code=2),
    Case("sessions/search", ["sessions", "search", "os.replace"], setups=LOG),
    Case("sessions/search-none", ["sessions", "search", "nowhere said"], setups=LOG),
    Case("sessions/rm", ["sessions", "rm", "a1", "--yes"], setups=LOG),
    Case("sessions/export", ["sessions", "export", "a1"], "md", setups=LOG),
    Case("sessions/export-json", ["sessions", "export", "a1", "--json"], "json", setups=LOG),
    Case("logs/status", ["logs"], setups=LOG),
    Case("logs/status-json", ["logs", "status", "--json"], "json"),
    Case("logs/off", ["logs", "off"]),
    Case("logs/on", ["logs", "on"]),
    Case("logs/path", ["logs", "path"]),
    Case("stats/none", ["stats"]),
    Case("stats/weeks", ["stats"], setups=LOG),
    Case("stats/json", ["stats", "--all", "--weeks", "2", "--json"], "json", setups=LOG),
    # templates
    Case("templates/none", ["templates"]),
    Case("templates/list", ["templates", "list"], setups=TEMPLATES),
    Case("templates/list-json", ["templates", "list", "--json"], "json", setups=TEMPLATES),
    Case("templates/show", ["templates", "show", "review"], "toml", setups=TEMPLATES),
    Case("templates/save", ["templates", "save", "new", "Say $input"]),
    Case("templates/save-again", ["templates", "save", "review", "Say $input", "--yes"], setups=TEMPLATES),
    Case("templates/edit", ["templates", "edit", "review"], setups=TEMPLATES),
    Case("templates/edit-wrong-name", ["templates", "edit", "no/name"], code=2),
    Case("templates/rm", ["templates", "rm", "review", "--yes"], setups=TEMPLATES),
    Case("templates/path", ["templates", "path", "review"], setups=TEMPLATES),
    # config
    Case("config/show", ["config", "show", "ask"], setups=(world.configuration,)),
    Case("config/show-json", ["config", "show", "--json"], "json", setups=(world.configuration,)),
    Case("config/path", ["config", "path"], setups=(world.configuration,)),
    Case("config/get", ["config", "get", "top-p"], setups=(world.configuration,)),
    Case("config/get-unknown", ["config", "get", "topp"], code=2),
    Case("config/set", ["config", "set", "top-p", "0.5"], setups=(world.configuration,)),
    Case("config/set-wrong", ["config", "set", "top-p", "5"], code=2),
    Case("config/edit", ["config", "edit"]),
    Case("config/edit-mistakes", ["config", "edit"], setups=(world.mistakes,), code=2),
    Case("config/validate", ["config", "validate"], setups=(world.configuration,)),
    Case("config/validate-mistakes", ["config", "validate"], setups=(world.mistakes,), code=2),
    Case("config/mistake", ["ask", "hi"], setups=(world.mistakes,), code=2),
    Case("config/schema", ["config", "schema"], "json"),
    # the others
    Case("completion/bash", ["completion", "bash"], "bash"),
    Case("completion/zsh", ["completion", "zsh"], "zsh"),
    Case("completion/fish", ["completion", "fish"], "fish"),
    Case("completion/powershell", ["completion", "powershell"], "ps1"),
    Case("completion/unknown", ["completion", "csh"], code=2),
    Case("doctor/offline", ["doctor"], setups=(world.computer,), code=1),
    Case("doctor/json", ["doctor", "--json"], "json", setups=(world.computer,), code=1),
    Case(
        "bench/exact", ["bench", "--suite", "edit", "--exact", "--explain-divergence"], setups=(world.measured,), code=1
    ),
    Case("bench/sessions", ["bench", "--suite", "sessions", "--limit", "1"], setups=(world.played,)),
    Case("bench/out-of-range", ["bench", "--limit", "0"], code=2),
)
