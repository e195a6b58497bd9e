"""`python -m lacli.bench.start`: see `run`."""

from lacli.bench.start.run import main

main()
