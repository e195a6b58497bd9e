"""`python -m lacli.bench.infill`: see `run`."""

from lacli.bench.infill.run import main

main()
