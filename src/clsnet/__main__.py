"""``python -m clsnet``."""

from clsnet.cli import main

main()
