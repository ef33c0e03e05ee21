"""The network in virtual time."""

import json
from typing import Any, Dict, List, Mapping, Optional, Union

from ._ask import ask, given, table

Scenario = Union[str, Mapping[str, Any]]

SLICE_EVENTS = 1_000_000
"""Events of a slice: between slices Python looks whether it was interrupted."""


def scenarios() -> Dict[str, str]:
    """The scenarios that come along, with what each is about.

    >>> "bounce" in scenarios()
    True
    """
    return {scenario["name"]: scenario["about"] for scenario in ask("scenarios")}


def simulate(scenario: Scenario, *, tags: Optional[bool] = None) -> "Simulation":
    """Plays a scenario to its end, on the network that it names: the name of one that comes along, YAML, or a dictionary with the same
    fields (docs/simulate.md).

    >>> simulate("bounce", tags=False).report()["deadlocks"]
    1
    >>> simulate("bounce").report()["deadlocks"]
    0
    """
    return start(scenario, tags=tags).run()


def start(scenario: Scenario, *, network: Optional[Dict[str, Any]] = None, tags: Optional[bool] = None) -> "Simulation":
    """A simulation in which nothing has happened yet."""
    # JSON is YAML.
    text = scenario if isinstance(scenario, str) else json.dumps(scenario)
    return Simulation(ask("simulate", scenario=text, **given({"network": network, "tags": tags})))


class Simulation:
    """A scenario under way: run a slice of virtual time at a time, look at it in between, change it by hand.

    >>> begun = start("bounce", tags=False)
    >>> begun.run(until_us=250).now_us
    250.0
    >>> begun.run().ended
    True
    >>> begun.deadlocks()[0]["switches"]
    ['p1a2', 'spine1', 'p2a1', 'spine2']
    """

    def __init__(self, begun: Dict[str, Any]) -> None:
        self._begun = begun
        self._number: Optional[int] = begun["simulation"]
        self.name: str = begun["name"]
        """The scenario's name."""
        self.duration_us: float = begun["duration_us"]
        """When it ends, in microseconds."""
        self.state: Dict[str, Any] = {"now_us": 0.0, "ended": False, "deadlocks": []}
        """Queues, pauses, flows, deadlocks at the end of the last slice (docs/lab.md, `run`)."""

    def _call(self, call: str, **request: Any) -> Any:
        return ask(call, simulation=self._number, **request)

    def run(self, until_us: Optional[float] = None) -> "Simulation":
        """Runs until a time in microseconds, or to the end. Interrupted, it can be run on."""
        until = self.duration_us if until_us is None else min(until_us, self.duration_us)
        while True:
            self.state = self._call("run", until_us=until, events=SLICE_EVENTS)
            if self.state["reached"]:
                return self

    @property
    def now_us(self) -> float:
        """The time, in microseconds."""
        return float(self.state["now_us"])

    @property
    def ended(self) -> bool:
        """Whether the scenario has ended."""
        return bool(self.state["ended"])

    def fail(self, link: str) -> "Simulation":
        """A link fails, now."""
        self.state = {**self._call("change", fail=link), "reached": True}
        return self

    def restore(self, link: str) -> "Simulation":
        """A link works again, now."""
        self.state = {**self._call("change", restore=link), "reached": True}
        return self

    def reroute(self, who: str = "converged") -> "Simulation":
        """Routing reacts to what is down, now: `converged` or `local`."""
        self.state = {**self._call("change", reroute=who), "reached": True}
        return self

    def report(self) -> Dict[str, Any]:
        """The figures so far, as `switchwright simulate --json` prints them."""
        return dict(self._call("report"))

    def deadlocks(self) -> List[Dict[str, Any]]:
        """The deadlocks so far: cycle, switches, when each closed."""
        return list(self.report()["deadlock"])

    def flows(self) -> Any:
        """A row per flow: bytes, throughput, marks, completion. A DataFrame where pandas is installed."""
        return table([_flat(row) for row in self.report()["flows"]])

    def switches(self) -> Any:
        """A row per switch: peaks, pauses, drops. A DataFrame where pandas is installed."""
        rows = self.report()["switches"]
        return table([{name: value for name, value in row.items() if name != "classes"} for row in rows])

    def classes(self) -> Any:
        """A row per switch, port and priority: counters in both directions. A DataFrame where pandas is installed."""
        rows = self.report()["switches"]
        return table([{"switch": row["name"], **entry} for row in rows for entry in row["classes"]])

    def plots(self) -> Dict[str, str]:
        """Pictures by name (`throughput`, `queues`, `buffers`, `pauses`, ...), as SVG. They end the simulation.

        >>> plots = simulate("bounce", tags=False).plots()
        >>> plots["deadlock"].startswith("<svg")
        True
        """
        plots = self._call("plots")
        self._number = None
        return {name: svg for name, svg in (plots or {}).items() if svg is not None}

    def close(self) -> None:
        """Forgets the simulation."""
        if self._number is not None:
            number, self._number = self._number, None
            ask("end", simulation=number)

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            # The engine has forgotten it, or Python is about to end.
            pass

    def __repr__(self) -> str:
        return f"<Simulation {self.name}: {self.now_us:g} of {self.duration_us:g} us>"


def _flat(row: Mapping[str, Any]) -> Dict[str, Any]:
    """A row without rows in it."""
    flat: Dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat.update({f"{name}_{inner}": of for inner, of in value.items()})
        else:
            flat[name] = value
    return flat
