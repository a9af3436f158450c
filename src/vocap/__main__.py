"""`python -m vocap`."""

from vocap.command import main

main()
