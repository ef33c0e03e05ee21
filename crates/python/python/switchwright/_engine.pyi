from os import PathLike
from typing import Optional, Sequence, Union

VERSION: str

class Engine:
    """Answers requests: JSON in, JSON out (docs/lab.md)."""

    def __init__(self) -> None: ...
    def call(self, request: str) -> str: ...
    def build(
        self,
        network: str,
        target: str,
        directory: Union[str, PathLike[str]],
        version: Optional[int],
    ) -> str: ...

def run(
    arguments: Sequence[Union[str, bytes]],
    program: Optional[Union[str, PathLike[str]]],
) -> int: ...
