"""`python -m lacli.bench.doors keys|crowd`: what editors wait for, and what many clients at once do to the engine."""

from __future__ import annotations

import sys

from lacli.bench.doors import crowd, keys

_MEASURES = {"keys": keys.main, "crowd": crowd.main}


def main() -> int:
    """Run the measurement that is named."""
    name, *arguments = sys.argv[1:] or [""]
    if name not in _MEASURES:
        print(__doc__, file=sys.stderr)
        return 2
    return _MEASURES[name](arguments)


sys.exit(main())
