"""Plans: tables for a topology, and their proof; what is made of them."""

import json
import os
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _engine
from ._ask import Error, NotProven, ask, given, table
from ._program import P4Program
from ._simulation import Scenario, Simulation, start

Path = Union[str, "os.PathLike[str]"]


class Proof:
    """What the proof of a plan says. It is true where the plan is proven.

    >>> from switchwright import Topology
    >>> clos = Topology.clos(leaves=4, spines=2, hosts=2)
    >>> bool(clos.plan(bounces=1).check())
    True
    >>> proof = clos.plan(bounces=1, without_tags=True).check()
    >>> [buffer["switch"] for buffer in proof.cycle]
    ['leaf1', 'spine1']
    """

    def __init__(self, answer: Dict[str, Any]) -> None:
        self.proven: bool = answer["proven"]
        """Whether all that is promised holds."""
        self.report: Dict[str, Any] = answer["report"]
        """Figures, as `switchwright check --json` prints them."""
        self.errors: List[str] = answer["errors"]
        """Every reason why it is not proven."""
        cycle = answer["cycle"]
        self.cycle: Optional[List[Dict[str, Any]]] = cycle and cycle["buffers"]
        """The buffers that can wait for each other in a circle, if there are such."""
        self.lost: Optional[Dict[str, Any]] = answer["lost"]
        """A route on which a packet loses its tag, if there is one."""

    def __bool__(self) -> bool:
        return self.proven

    def __repr__(self) -> str:
        return "<Proof: proven>" if self.proven else f"<Proof: not proven: {self.errors[0]}>"


class Trace:
    """A packet's way through the network.

    >>> from switchwright import Topology
    >>> plan = Topology.clos(leaves=4, spines=2, hosts=2).plan(bounces=1)
    >>> trace = plan.trace("h1", "h8", fail=["leaf1-spine1", "leaf4-spine2"])
    >>> trace.end, trace.switches
    ('delivered', ['leaf1', 'spine2', 'leaf3', 'spine1', 'leaf4'])
    """

    def __init__(self, answer: Dict[str, Any]) -> None:
        self.end: str = answer["end"]
        """What became of it: `delivered`, `dropped`, ..."""
        self.host: Optional[str] = answer.get("host")
        """Where it arrived."""
        self.hops: List[Dict[str, Any]] = answer["hops"]
        """Per switch: ports, tags, tables, headers before and after, lines of the program that ran."""
        self.files: List[Dict[str, str]] = answer["files"]
        """The program that ran."""

    @property
    def switches(self) -> List[str]:
        """The switches that it passed."""
        return [hop["switch"] for hop in self.hops]

    def table(self) -> Any:
        """A row per switch. A DataFrame where pandas is installed."""
        columns = ("switch", "in_port", "out_port", "tag_before", "tag_after", "ing_prio", "eg_prio")
        return table([{name: hop.get(name) for name in columns} for hop in self.hops])

    def __repr__(self) -> str:
        return f"<Trace {' '.join(self.switches)}: {self.end}>"


class Plan:
    """Tables for a topology, with their proof. `Topology.plan` computes one, `Plan.read` reads one, whoever computed it.

    >>> from switchwright import Topology
    >>> plan = Topology.clos(leaves=4, spines=2, hosts=2).plan(bounces=1)
    >>> plan
    <Plan tagger of clos-4x2: proven>
    >>> plan.figures["rules_total"]
    20
    """

    def __init__(self, network: Dict[str, Any]) -> None:
        answer = ask("plan", **network)
        self._file: str = answer.pop("file")
        # From now on it is what its file says: tables are computed once.
        self._network: Dict[str, Any] = {"file": self._file}
        self._answer = answer
        self._proof = Proof(answer)

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """The plan of a plan file's text (docs/plan-file.md); it is proven anew.

        >>> from switchwright import Topology
        >>> Plan.from_json(Topology.ring(6).plan().to_json()).proven
        True
        """
        return cls({"file": text})

    @classmethod
    def read(cls, path: Path) -> "Plan":
        """Reads a plan file; it is proven anew."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            return cls.from_json(text)
        except Error as error:
            raise Error(f"{os.fspath(path)}: {error}") from None

    def to_json(self) -> str:
        """The plan file (docs/plan-file.md)."""
        return self._file

    def save(self, path: Path) -> None:
        """Writes the plan file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._file)

    @property
    def proven(self) -> bool:
        """Whether all that is promised holds."""
        return self._proof.proven

    def check(self) -> Proof:
        """The proof, or every reason why not. It reads the tables only, so that tables of anybody get the same proof."""
        return self._proof

    @property
    def figures(self) -> Dict[str, Any]:
        """Figures, as `switchwright plan --json` prints them but for the number of routes and the time; of a plan that is not proven,
        those of the proof."""
        return dict(self._answer.get("summary") or self._proof.report)

    def tags(self) -> Any:
        """The lossless tags and their priorities. A DataFrame where pandas is installed."""
        return table(self._answer["tags"])

    def without_tags(self) -> "Plan":
        """The same with plain PFC: every switch lets packets keep their first tag, whatever way they take."""
        return Plan({**self._network, "without_tags": True})

    def _made_of(self) -> Dict[str, Any]:
        if not self.proven:
            reasons = "; ".join(self._proof.errors)
            raise NotProven(f"the plan is not proven, so nothing is made of it: {reasons}", self._proof)
        return self._network

    def entries(self, switches: Sequence[str] = ()) -> Any:
        """What switches hold (all if none is named), a row per entry. A DataFrame where pandas is installed.

        >>> from switchwright import Topology
        >>> len(Topology.ring(6).plan().entries(["s1"])) > 5
        True
        """
        answer = ask("entries", **self._made_of(), switches=list(switches))
        return table([dict(zip(answer["columns"], row)) for row in answer["rows"]])

    def program(self, target: str = "v1model") -> P4Program:
        """The P4 program of the plan.

        >>> from switchwright import Topology
        >>> Topology.ring(6).plan().program().check()
        []
        """
        answer = ask("build", **self._made_of(), target=target)
        main, *others = answer["files"]
        return P4Program(text=main["text"], files={file["name"]: file["text"] for file in others}, name=answer["program"])

    def build(self, directory: Path, target: str = "v1model", *, plan_version: Optional[int] = None) -> Dict[str, Any]:
        """Writes the build directory: program, every switch's entries, report. An earlier build there is replaced. Returns the report.

        >>> import os, tempfile
        >>> from switchwright import Topology
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = Topology.ring(6).plan().build(os.path.join(folder, "ring"))
        ...     sorted(os.listdir(os.path.join(folder, "ring")))[:3]
        ['certificate.json', 'manifest.json', 'p4']
        >>> report["entries_total"] > 30
        True
        """
        network = json.dumps(self._made_of())
        try:
            report = _engine.build(network, target, os.fspath(directory), plan_version)
        except ValueError as error:
            raise Error(str(error)) from None
        return dict(json.loads(report))

    def trace(
        self,
        source: str,
        destination: str,
        *,
        fail: Sequence[str] = (),
        routing: str = "converged",
        lossy: bool = False,
        traffic_class: int = 0,
        flow: Optional[int] = None,
        ipv6: bool = False,
        program: Optional[str] = None,
    ) -> Trace:
        """Sends a packet from host to host through the embedded switches, after some links have failed. `routing` says who has
        reacted: `converged` (all), `local` (neighbours). `flow` is the UDP source port, `program` the main file of another program."""
        packet = {"from": source, "to": destination, "lossy": lossy, "class": traffic_class, "flow": flow, "ipv6": ipv6}
        more = given({"program": program})
        packet = {"hosts": given(packet)}
        return Trace(ask("trace", **self._made_of(), fail=list(fail), routing=routing, packet=packet, **more))

    def simulate(self, scenario: Scenario, *, tags: Optional[bool] = None) -> Simulation:
        """Begins a scenario on this plan's network, in virtual time: the name of one that comes along, YAML, or a dictionary with the
        same fields (docs/simulate.md). `tags=False` is plain PFC.

        >>> from switchwright import Topology
        >>> plan = Topology.clos(leaves=4, spines=2, hosts=2).plan(bounces=1)
        >>> flows = [{"from": "h1", "to": "h8"}, {"from": "h2", "to": "h7"}]
        >>> simulation = plan.simulate({"name": "two", "duration": "1ms", "flows": flows}).run()
        >>> simulation.report()["deadlocks"], len(simulation.flows())
        (0, 2)
        """
        return start(scenario, network=self._made_of(), tags=tags)

    def __repr__(self) -> str:
        summary = self._answer.get("summary") or {}
        verdict = summary.get("verdict", "not proven")
        return f"<Plan {self._answer['scheme']} of {self._answer['topology']}: {verdict}>"
