"""`python -m lacli.cli.reference [--check]`: write docs/commands.md and docs/configuration.md anew."""

from __future__ import annotations

import sys

from lacli.cli.reference import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
