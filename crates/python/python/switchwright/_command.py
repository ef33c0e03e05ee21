"""The command `switchwright`: the same as the program of that name, run inside this process."""

import importlib.metadata
import os
import signal
import sys
from typing import Optional

from . import _engine


def _script() -> Optional[str]:
    """The installed script, which commands start that start themselves again."""
    called = os.path.realpath(sys.argv[0])
    if os.path.basename(called) == "switchwright" and os.access(called, os.X_OK):
        return called
    try:
        files = importlib.metadata.files("switchwright") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        path = os.path.realpath(str(file.locate()))
        if os.path.basename(path) == "switchwright" and os.access(path, os.X_OK):
            if os.path.isfile(path):
                return path
    return None


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    # Ctrl-C ends the command as it ends any program. Python would note it, and wait for the command to return.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _engine.run(sys.argv, _script())


if __name__ == "__main__":
    sys.exit(main())
