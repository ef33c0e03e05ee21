from os import PathLike
from typing import Optional, Sequence, Union

VERSION: str
"""The version, as `switchwright --version` tells it."""

def call(request: str) -> str:
    """Answers a request: JSON in, JSON out (docs/lab.md). Other threads run meanwhile. A request that is interrupted stops at its
    next step; if that takes longer than a second nobody waits for it, and the next one finds an engine that remembers nothing."""

def build(
    network: str,
    target: str,
    directory: Union[str, PathLike[str]],
    version: Optional[int],
) -> str:
    """Writes the build directory of a network's plan, and returns the build's report as JSON."""

def run(
    arguments: Sequence[Union[str, bytes]],
    program: Optional[Union[str, PathLike[str]]],
) -> int:
    """Runs the command, its name first among the arguments, and returns its exit status. `program` is the file that runs the command,
    for commands that start themselves again."""
