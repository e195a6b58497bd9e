"""Which language a piece of code without a file name is written in, by the words and signs only it uses. Pure.

What lives here are the telltale lines of each language and one count. A wrong guess has a completion ended or
refused by the rules of another language, so where two are close none is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_MOST = 1 << 14
"""Characters that are looked at."""
_CLEARLY = 1.5
"""How many times as many lines must speak for a language as for the next one."""

_TELLTALES: Mapping[str, tuple[str, ...]] = {
    "python": (
        r"(?:async )?def \w+\(|class \w+(?:\(.*\))?:|from [\w.]+ import|import \w[\w.]*(?: as \w+)?(?:, \w[\w.]*)*$",
        r"(?:if|elif|for|while|with|except|try|else)\b[^{]*:$|@\w+|(?:self|cls)\.[^;{]*$|return self\b",
    ),
    "javascript": (
        r"(?:export |async |default )*function\b|(?:export )?(?:const|let|var) [\w{\[].*=|.*[\w)] => ?[{(]|.*[!=]==",
        r"(?:import|export) .*['\"];?$|.*\brequire\(|console\.|this\.|class \w+(?: extends [\w.]+)? \{$|.*\bawait ",
        r"module\.exports",
    ),
    "typescript": (
        r"(?:export )?(?:interface \w+.*\{|type \w+(?:<.*>)? =|enum \w+ \{)",
        r".*[\w)\]?]: (?:string|number|boolean|void|any|unknown)\b|.*\bas const\b|(?:private|public|readonly) \w+: ",
        r"import type ",
    ),
    "go": (
        r"func (?:\(|\w+[(\[])|package \w+$|.*:= |type \w+ (?:struct|interface)\b|import \(|go func|defer ",
        r".*\berr != nil|.*\bmap\[\w+\]|var \w+ [\w\[*]+",
    ),
    "rust": (
        r"(?:pub(?:\(\w+\))? )?(?:async )?(?:fn|impl|mod|trait|enum|struct) [\w<]|let mut |let .*: &?\w+.* = ",
        r"use [\w:]+::|let \w+ = .*;$|#!?\[|.*(?:&mut |&self\b|\.unwrap\(\)|->.*\{$.*|Some\(|Ok\(|::new\()",
        r"match .*\{$|macro_rules!|\(.*\).* => ",
    ),
    "c": (
        r'#include\s*(?:<\w[\w/]*\.h>|")|#(?:define|ifn?def|endif|undef)\b',
        r"(?:static |const |unsigned |inline |extern )*"
        r"(?:struct \w+|int|void|char|long|double|float|size_t|u?int\d+_t) [*]*\w+\(",
        r".*->\w|.*\b(?:NULL|sizeof|malloc|printf)\b|typedef |(?:struct \w+|char|int|size_t|void) \*",
    ),
    "cpp": (
        r"#include\s*<\w+>|.*\bstd::|template ?<|(?:public|private|protected):$|.*\bnullptr\b|using namespace",
        r".*\bauto&? |class \w+(?: final)?(?:;| : .*)$|.*\w+::\w+\(|.*\bconstexpr\b",
    ),
    "java": (
        r"import (?:static )?(?:java|javax|org|com)\.|package [\w.]+;|@Override|.*\bSystem\.out\b|.*\bnew \w+<>\(",
        r"(?:public|private|protected)(?: static| final| abstract)*"
        r" (?:class|interface|enum|record|void|int|long|boolean|String|\w+<.*>|[A-Z]\w*) \w+.*[({;=]",
    ),
    "csharp": (
        r"using [A-Z][\w.]*;|namespace [A-Z][\w.]*|.*\{ get; (?:private )?(?:set|init)?|.*\bConsole\.Write",
        r"(?:public|private|internal|protected)(?: \w+)* (?:string|async|override|virtual|readonly|sealed|bool) .*",
        r".*\bforeach \(|\[\w+(?:\(.*\))?\]$",
    ),
    "kotlin": (
        r"(?:\w+ )*fun (?:\w+\.|<.*> )?\w+\(|(?:private |override |const |lateinit )*va[lr] \w+(?::| =| by)",
        r"data class |companion object|.*\?\.let \{|.*\?: |when ?\(.*\) \{",
    ),
    "swift": (
        r"(?:\w+ )*func \w+[(<].*(?:\w: |-> ).*|guard |if let |(?:\w+ )*let \w+(?::| =)[^;]*$",
        r"import (?:Foundation|UIKit|SwiftUI)|extension \w+|(?:\w+ )*protocol \w+|.*\?\? ",
    ),
    "php": (r"<\?php|(?:\w+ )*function \w+\(.*\$|namespace \w+\\|use \w+\\|.*\$this->|echo .*\$\w+.*;$|foreach \(\$",),
    "perl": (
        r"my [$@%(]|sub \w+ ?\{|use (?:strict|warnings|[A-Z]\w*(?:::\w+)*)\b.*;$|.*\$\w+->\{|.*\@_\b|.*=~ ",
        r"package \w+::",
    ),
    "toml": (r"\[\[?[\w.\"-]+\]?\]$|[\w.-]+ = (?:[\"'\[{\d]|true|false)[^;]*$",),
    "json": (r'"[^"]*": ?',),
    "yaml": (r"[\w.-]+:(?: [\w\"'./\[&|>][^;{]*)?$|- [\w.\"'/-]+:?(?: .*)?$|---$",),
    "ruby": (
        r"def (?:self\.)?[\w?!]+(?:\(.*\))?$|end$|require(?:_relative)? ['\"]|.* do \|.*\|$|attr_\w+ :",
        r"module [A-Z]\w*$|class [A-Z]\w*(?: < [A-Z]\w*)?$|elsif |unless |puts ",
    ),
    "shell": (
        r'#!.*\bsh\b|(?:fi|done|esac)$|if \[|.*; (?:then|do)$|(?:then|do)$|\w+=["$][^<>]*$',
        r'(?:echo |export \w+=|source |set -)|while read |.*"\$\w',
    ),
    "lua": (r"local \w+|.*\bfunction\b.*\)$|end[,)]*$|.*\bthen$|.*\.\.\s|elseif |.*~= ",),
    "sql": (
        r"(?i:select\b|insert into\b|create (?:table|index|view)\b|from \w|where |update \w+ set|delete from\b)",
        r"(?i:(?:left |inner )?join \w|group by |order by )",
    ),
    "html": (r'<!DOCTYPE|</?\w+(?: [\w-]+=".*)?/?>|<\w+ .*>$',),
    "css": (r"[.#]?[\w-]+(?:[ ,:>.#][\w\s.:#>,-]*)? \{$|[\w-]+: [^;{]+;$|@(?:media|import|keyframes)\b",),
}
"""Regular expressions of a line, by language."""
_PATTERNS = {name: re.compile(rf"[ \t]*(?:{'|'.join(each)})") for name, each in _TELLTALES.items()}
_HEIRS = {"javascript": "typescript", "c": "cpp"}
"""Languages in which all is said that another has; a line of their own tells them from it."""

_DATA, _OF_DATA = ("toml", "json", "yaml", "css"), 3
"""Formats whose lines stand in code, too, and how many of those weigh as much as a line of code."""


def language_name(text: str) -> str:
    """The language that a text is most likely written in; empty where none is clear."""
    lines = [line.rstrip() for line in text[:_MOST].split("\n")]
    counts: dict[str, float] = {
        name: sum(1 for line in lines if pattern.match(line)) for name, pattern in _PATTERNS.items()
    }
    for base, heir in _HEIRS.items():
        if counts[heir] and counts[base]:
            counts[heir] += counts.pop(base)
    for name in _DATA:
        counts[name] /= _OF_DATA
    ranked = sorted(counts.items(), key=lambda each: -each[1])
    (best, most), (_, second) = ranked[:2]
    return best if most > _CLEARLY * second else ""
