"""Topologies."""

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._ask import Error, ask, given, table
from ._plan import Plan

Path = Union[str, "os.PathLike[str]"]


class Topology:
    """Switches with numbered ports, hosts, and links between them.

    It is made by a generator, or read from a file of any kind that `switchwright topo import` knows:

    >>> clos = Topology.clos(leaves=4, spines=2, hosts=2)
    >>> clos
    <Topology clos-4x2: 6 switches, 8 hosts, 16 links>
    >>> clos.switches[:3]
    ['leaf1', 'leaf2', 'leaf3']

    Generators take rates and lengths of cables as well: `fabric_rate` and `host_rate` (`"100Gbps"`), `fabric_length` and
    `host_length` (metres). In a notebook a topology shows itself as a picture.
    """

    def __init__(self, given: Dict[str, Any], view: Dict[str, Any]) -> None:
        self._given = given
        self._view = view

    @classmethod
    def _of(cls, given: Dict[str, Any]) -> "Topology":
        view = ask("topology", topology=given)
        # From now on it is what its file says, whatever generator or file it came from.
        return cls({"text": {"text": view["file"]}}, view)

    @classmethod
    def _make(cls, kind: Any, cables: Mapping[str, Any]) -> "Topology":
        return cls._of({"make": {"topology": kind, "cables": given(cables)}})

    @classmethod
    def three_node(cls, **cables: Any) -> "Topology":
        """The papers' triangle of three switches with a host each.

        >>> len(Topology.three_node().links)
        6
        """
        return cls._make("three-node", cables)

    @classmethod
    def line(cls, switches: int, hosts: int = 1, **cables: Any) -> "Topology":
        """Switches in a row, with so many hosts each.

        >>> Topology.line(3)
        <Topology line-3: 3 switches, 3 hosts, 5 links>
        """
        return cls._make({"line": {"switches": switches, "hosts": hosts}}, cables)

    @classmethod
    def ring(cls, switches: int, hosts: int = 1, **cables: Any) -> "Topology":
        """Switches in a circle, with so many hosts each.

        >>> Topology.ring(4)
        <Topology ring-4: 4 switches, 4 hosts, 8 links>
        """
        return cls._make({"ring": {"switches": switches, "hosts": hosts}}, cables)

    @classmethod
    def clos(
        cls,
        leaves: int,
        spines: int,
        hosts: int = 1,
        *,
        pods: Optional[int] = None,
        aggregations: Optional[int] = None,
        planes: bool = False,
        parallel: int = 1,
        **cables: Any,
    ) -> "Topology":
        """Leaf-spine, or with `pods` and `aggregations` (per pod) a Clos of three layers. `hosts` are per leaf.

        >>> Topology.clos(pods=2, leaves=2, aggregations=2, spines=4)
        <Topology clos-2x2x2x4: 12 switches, 4 hosts, 28 links>
        """
        clos = given({"leaves": leaves, "spines": spines, "hosts": hosts, "pods": pods, "aggregations": aggregations})
        if planes:
            clos["planes"] = True
        return cls._make({"clos": {**clos, "parallel": parallel}}, cables)

    @classmethod
    def fat_tree(cls, k: int, **cables: Any) -> "Topology":
        """The k-ary fat-tree.

        >>> Topology.fat_tree(4)
        <Topology fat-tree-4: 20 switches, 16 hosts, 48 links>
        """
        return cls._make({"fat-tree": {"k": k}}, cables)

    @classmethod
    def egft(cls, hosts: int, ports: int, oversubscription: float = 1.0, **cables: Any) -> "Topology":
        """An extended generalized fat tree of the fewest switches for so many hosts (Stephens15 section 4.7).

        >>> len(Topology.egft(hosts=32, ports=8).hosts)
        32
        """
        tree = {"hosts": hosts, "ports": ports, "oversubscription": oversubscription}
        return cls._make({"egft": tree}, cables)

    @classmethod
    def bcube(cls, n: int, k: int, **cables: Any) -> "Topology":
        """BCube(n, k): n^(k+1) servers that forward, of k + 1 ports.

        >>> len(Topology.bcube(n=4, k=1).hosts)
        16
        """
        return cls._make({"bcube": {"n": n, "k": k}}, cables)

    @classmethod
    def jellyfish(
        cls,
        switches: Optional[int] = None,
        *,
        ports: int,
        fabric_ports: Optional[int] = None,
        hosts: Optional[int] = None,
        oversubscription: Optional[float] = None,
        seed: int = 1,
        **cables: Any,
    ) -> "Topology":
        """A random regular graph: of so many switches, `fabric_ports` of their ports toward each other, or of as many switches as
        so many hosts take. The same seed gives the same graph.

        >>> Topology.jellyfish(switches=20, ports=8, fabric_ports=4, seed=7)
        <Topology jellyfish-20x8: 20 switches, 80 hosts, 120 links>
        """
        fish = given(
            {
                "switches": switches,
                "ports": ports,
                "fabric_ports": fabric_ports,
                "hosts": hosts,
                "oversubscription": oversubscription,
                "seed": seed,
            }
        )
        return cls._make({"jellyfish": fish}, cables)

    @classmethod
    def flattened_clos(
        cls,
        switches: int,
        *,
        ports: int,
        fabric_ports: int,
        layers: Optional[int] = None,
        single_links: bool = False,
        seed: int = 1,
        **cables: Any,
    ) -> "Topology":
        """A Flattened Clos: an expander whose ports stand in virtual layers (FC23 section 3).

        >>> flat = Topology.flattened_clos(32, ports=16, fabric_ports=10)
        >>> flat.plan("flattened-clos").proven
        True
        """
        clos = given({"switches": switches, "ports": ports, "fabric_ports": fabric_ports, "layers": layers, "seed": seed})
        if single_links:
            clos["single_links"] = True
        return cls._make({"flattened-clos": clos}, cables)

    @classmethod
    def xpander(cls, switches: int, *, ports: int, fabric_ports: int, seed: int = 1, **cables: Any) -> "Topology":
        """A random lift of a complete graph (Xpander16); `switches` is a multiple of `fabric_ports` and one.

        >>> len(Topology.xpander(12, ports=4, fabric_ports=3).switches)
        12
        """
        lift = {"switches": switches, "ports": ports, "fabric_ports": fabric_ports, "seed": seed}
        return cls._make({"xpander": lift}, cables)

    @classmethod
    def drawn(cls, switches: Mapping[str, Sequence[str]], links: Sequence[Sequence[str]], **cables: Any) -> "Topology":
        """Everything by name: the hosts of every switch, and links as pairs of switches. A switch's hosts have its first ports, then
        come its links in the order of the list.

        >>> Topology.drawn({"a": ["h1"], "b": ["h2"]}, [("a", "b"), ("a", "b")]).links
        ['a-h1', 'b-h2', 'a:2-b:2', 'a:3-b:3']
        """
        drawn = {"switches": {name: list(hosts) for name, hosts in switches.items()}, "links": [list(pair) for pair in links]}
        return cls._make({"drawn": drawn}, cables)

    @classmethod
    def from_text(cls, text: str, *, hosts_per_node: int = 0, name: Optional[str] = None) -> "Topology":
        """What a file says, in any format that `switchwright topo import` knows. `hosts_per_node` is for formats without hosts.

        >>> Topology.from_text("a,b\\ns1,s2\\ns2,s3\\ns3,s1\\n", hosts_per_node=1, name="triangle")
        <Topology triangle: 3 switches, 3 hosts, 6 links>
        """
        return cls._of({"text": given({"text": text, "hosts_per_node": hosts_per_node, "name": name})})

    @classmethod
    def read(cls, path: Path, *, hosts_per_node: int = 0) -> "Topology":
        """Reads a file: our own topology files, p4-utils, p4lang/tutorials, GraphML, containerlab, CSV.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "ring.json")
        ...     Topology.ring(5).save(path)
        ...     Topology.read(path)
        <Topology ring-5: 5 switches, 5 hosts, 10 links>
        """
        stem = os.path.splitext(os.path.basename(os.fspath(path)))[0]
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            return cls.from_text(text, hosts_per_node=hosts_per_node, name=stem)
        except Error as error:
            raise Error(f"{os.fspath(path)}: {error}") from None

    def save(self, path: Path) -> None:
        """Writes the topology file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def to_json(self) -> str:
        """The topology file (docs/topology-file.md)."""
        return str(self._view["file"])

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._view["name"])

    @property
    def switches(self) -> List[str]:
        """The names of its switches."""
        return [switch["name"] for switch in self._view["switches"]]

    @property
    def hosts(self) -> List[str]:
        """The names of its hosts."""
        return [host["name"] for host in self._view["hosts"]]

    @property
    def links(self) -> List[str]:
        """The names of its links, as `fail` takes them."""
        return [link["name"] for link in self._view["links"]]

    @property
    def notes(self) -> List[str]:
        """What the importer had to say."""
        return list(self._view.get("notes", []))

    def summary(self) -> Dict[str, Any]:
        """Counts, degrees, diameter.

        >>> Topology.ring(6).summary()["diameter"]
        3
        """
        return dict(ask("summary", topology=self._given))

    def switch_table(self) -> Any:
        """The switches: name, ports, layer, whether it is up. A DataFrame where pandas is installed."""
        columns = ("name", "ports", "layer", "up")
        return table([{name: switch[name] for name in columns} for switch in self._view["switches"]])

    def link_table(self) -> Any:
        """The links: name, ends, rate, whether it is up. A DataFrame where pandas is installed."""
        names = {"switch": self.switches, "host": self.hosts}

        def end(of: Dict[str, Any]) -> Dict[str, Any]:
            kind = "switch" if "switch" in of else "host"
            return {"node": names[kind][of[kind]], "port": of["port"]}

        rows = []
        for link in self._view["links"]:
            a, b = end(link["a"]), end(link["b"])
            row = {"name": link["name"], "a": a["node"], "a_port": a["port"], "b": b["node"], "b_port": b["port"]}
            rows.append({**row, "gbps": link["gbps"], "up": link["up"]})
        return table(rows)

    def svg(self) -> str:
        """The topology as a picture.

        >>> Topology.three_node().svg().startswith("<svg")
        True
        """
        return str(ask("draw", topology=self._given)["svg"])

    def _repr_svg_(self) -> str:
        return self.svg()

    def plan(self, scheme: str = "tagger", *, without_tags: bool = False, **options: Any) -> Plan:
        """Computes the tables of a scheme, and proves them.

        Schemes are `tagger`, `ttl`, `flattened-clos`, `ecmp`, `ksp`, and failover by `plinko`, `fcp`, `mpls-frr`, `edst`, `adst`,
        `df-fi`, `df-edst`. Options are those of a scenario's `network.plan` (docs/simulate.md): `bounces`, `classes`, `codes`,
        `tag_priorities`, `algorithm`, `routes`, `resilience`, `lossless`, ... `without_tags` is plain PFC: every switch lets packets keep their tag.

        >>> fish = Topology.jellyfish(switches=20, ports=8, fabric_ports=4, seed=7)
        >>> plan = fish.plan()
        >>> plan.proven, plan.figures["tags"]
        (True, 2)
        >>> fish.plan(without_tags=True).proven
        False
        >>> fish.plan("plinko", resilience=1).figures["verdict"]
        'proven'
        >>> fish.plan(scheme="ecmp", hops=3)
        Traceback (most recent call last):
            ...
        switchwright.Error: network.plan: `hops` means nothing for the scheme ecmp: it is for ttl; leave `hops` out
        """
        network: Dict[str, Any] = {"topology": self._given, "plan": {"scheme": scheme, **given(options)}}
        if without_tags:
            network["without_tags"] = True
        return Plan(network)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topology) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        switches, hosts, links = (len(self._view[what]) for what in ("switches", "hosts", "links"))
        return f"<Topology {self.name}: {switches} switches, {hosts} hosts, {links} links>"
