"""Requests to the engine, and tables of figures."""

import importlib
import json
from typing import Any, Dict, List, Mapping, Sequence

from . import _engine

class Error(ValueError):
    """What was asked for is wrong, does not fit together, or cannot be had; the message says what, where and how to mend it."""


class NotProven(Error):
    """A plan is not proven, so nothing is made of it. `proof` has every reason, and the cycle if there is one."""

    def __init__(self, message: str, proof: Any) -> None:
        super().__init__(message)
        self.proof = proof


def ask(call: str, **request: Any) -> Any:
    """The answer to a request.

    >>> ask("about")["executor"]
    'compiled'
    """
    answer = json.loads(_engine.call(json.dumps({"call": call, **request})))
    if "error" in answer:
        raise Error(answer["error"]["message"])
    return answer["ok"]


def given(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options that were given: None is what nobody said."""
    return {name: value for name, value in options.items() if value is not None}


def table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a pandas DataFrame where pandas is installed, else as the list that they are.

    >>> len(table([{"switch": "s1", "rules": 3}]))
    1
    """
    listed: List[Dict[str, Any]] = [dict(row) for row in rows]
    # Types of pandas are a package of their own, which nobody has to have.
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return listed
    return pandas.DataFrame(listed)
