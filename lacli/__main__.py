"""`python -m lacli`: the same as the command `lacli`, for where scripts are not on the path."""

from __future__ import annotations

import sys

from lacli.entry import lacli

sys.exit(lacli())
