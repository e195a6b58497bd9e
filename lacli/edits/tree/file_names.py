"""How names of files end, for telling `app.js` from a member called js. Data; one list for whatever has to know."""

from __future__ import annotations

import re

from lacli.text.languages import LANGUAGES

_MORE = ("io", "net", "ini", "cfg")
"""Endings of what is no language: socket.io, the .net in ASP.NET, settings."""

ENDING = "|".join(
    sorted({re.escape(ending[1:]) for each in LANGUAGES for ending in each.endings if ending[:1] == "."} | {*_MORE})
)
"""A regular expression of one, without its dot."""
LONG_ENDING = "|".join(each for each in ENDING.split("|") if len(each) > 1 and each != "log")
"""Of those that are seldom the name of a member."""
