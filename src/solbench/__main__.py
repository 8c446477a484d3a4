"""``python -m solbench``: the command line without its script."""

from solbench.cli import main

main()
