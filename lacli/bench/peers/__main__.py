"""`python -m lacli.bench.peers`: see `run`."""

import sys

from lacli.bench.peers.run import main

sys.exit(main())
