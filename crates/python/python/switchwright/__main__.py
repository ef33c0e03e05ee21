"""`python -m switchwright` is the command `switchwright`."""

import sys

from ._command import main

if __name__ == "__main__":
    sys.argv[0] = "switchwright"
    sys.exit(main())
