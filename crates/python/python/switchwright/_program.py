"""P4 programs by themselves."""

import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._ask import Error, ask, table

Path = Union[str, "os.PathLike[str]"]
Packet = Union[bytes, str, Tuple[int, Union[bytes, str]]]


class Finding:
    """What the front end says of a place in a program."""

    def __init__(self, record: Dict[str, Any]) -> None:
        self.record = record
        """All of it, as `switchwright p4 check --json` prints it."""
        self.severity: str = record["severity"]
        """`error`, `warning` or `note`."""
        self.message: str = record["message"]
        """What it says."""
        place = record.get("place") or {}
        self.file: Optional[str] = place.get("file")
        """The file."""
        self.line: Optional[int] = place.get("line")
        """The line, from 1."""
        self.column: Optional[int] = place.get("column")
        """The column, from 1."""

    def __repr__(self) -> str:
        where = "" if self.line is None else f"{self.file}:{self.line}:{self.column}: "
        return f"<{where}{self.severity}: {self.message}>"


class Outcome:
    """What became of a packet."""

    def __init__(self, played: Dict[str, Any]) -> None:
        self.sent: List[Tuple[int, bytes]] = [(sent["port"], bytes.fromhex(sent["bytes"])) for sent in played["sent"]]
        """Packets that left: port and bytes."""
        self.dropped: List[str] = played["dropped"]
        """Why packets did not."""
        self.trace: List[str] = played["trace"]
        """What happened on the way, if it was asked for."""

    def __repr__(self) -> str:
        sent = [f"port {port}: {data.hex()}" for port, data in self.sent]
        return f"<{'; '.join(sent + self.dropped) or 'nothing came of it'}>"


class Judgement:
    """Whether a program passed a case. It is true where it did."""

    def __init__(self, answer: Dict[str, Any]) -> None:
        self.passed: bool = answer["passed"]
        """Whether it did."""
        self.failures: List[Tuple[int, str]] = [(failure["line"], failure["message"]) for failure in answer["failures"]]
        """What failed: the line of the case, and what was wrong."""

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        if self.passed:
            return "<passed>"
        return "<failed: " + "; ".join(f"line {line}: {message}" for line, message in self.failures) + ">"


class P4Program:
    """A P4_16 program for v1model: a file, or text. Or what p4c and `switchwright p4 compile` make of one for BMv2: a file whose name ends
    in `.json`.

    >>> text = '''
    ... #include <core.p4>
    ... #include <v1model.p4>
    ... header byte_t { bit<8> value; }
    ... struct headers_t { byte_t first; }
    ... struct metadata_t {}
    ... parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    ...     state start { p.extract(h.first); transition accept; }
    ... }
    ... control V(inout headers_t h, inout metadata_t m) { apply {} }
    ... control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    ...     apply { s.egress_spec = 2; h.first.value = h.first.value + 1; }
    ... }
    ... control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply {} }
    ... control C(inout headers_t h, inout metadata_t m) { apply {} }
    ... control D(packet_out p, in headers_t h) { apply { p.emit(h.first); } }
    ... V1Switch(P(), V(), I(), E(), C(), D()) main;
    ... '''
    >>> program = P4Program(text=text)
    >>> program.check()
    []
    >>> [outcome] = program.run([(1, "07 ff")])
    >>> outcome.sent
    [(2, b'\\x08\\xff')]
    >>> program.stf("packet 1 07\\nexpect 2 09\\n").passed
    False
    >>> P4Program(text=text.replace("+ 1", "+ x")).check()[0].line
    12
    >>> import pathlib, subprocess, sys, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "byte.p4").write_text(text)
    >>> line = [sys.executable, "-m", "switchwright", "p4", "compile", str(folder / "byte.p4"), "-o", str(folder / "byte.json")]
    >>> _ = subprocess.run(line, check=True, capture_output=True)
    >>> [outcome] = P4Program(folder / "byte.json").run([(1, "07 ff")])
    >>> outcome.sent
    [(2, b'\\x08\\xff')]
    """

    def __init__(
        self,
        path: Optional[Path] = None,
        *,
        text: Optional[str] = None,
        files: Optional[Mapping[str, str]] = None,
        include: Sequence[Path] = (),
        define: Optional[Mapping[str, str]] = None,
        name: Optional[str] = None,
        p4info: Optional[Path] = None,
    ) -> None:
        """The file at `path` with what it includes, from its folder and those of `include`; or `text`, which includes `files`.
        `core.p4` and `v1model.p4` are built in. A file that ends in `.json` is BMv2's JSON; `p4info`, in its text format, is what
        entries for it other than STF take."""
        if (path is None) == (text is None):
            raise Error("a program is either the file at a path or text: give one of the two")
        self._source: Dict[str, Any] = {"define": dict(define or {})}
        if path is not None:
            if files is not None:
                raise Error("`files` are what text includes; a file finds what it includes on the disk: give `include` folders")
            self._source["path"] = os.fspath(path)
            self._source["include"] = [os.fspath(folder) for folder in include]
        else:
            self._source["text"] = text
            self._source["files"] = dict(files or {})
            self._source["include"] = [os.fspath(folder) for folder in include]
        if p4info is not None:
            self._source["p4info"] = os.fspath(p4info)
        self.name = name or (os.fspath(path) if path is not None else "main.p4")
        """What it is called."""

    @property
    def text(self) -> str:
        """The text of its main file."""
        if "text" in self._source:
            return str(self._source["text"])
        with open(self._source["path"], encoding="utf-8") as file:
            return file.read()

    def check(self) -> List[Finding]:
        """What the front end says of it: errors, warnings. The list is empty where there is nothing to say."""
        return [Finding(record) for record in ask("compile", **self._source)["findings"]]

    def tables(self) -> List[str]:
        """The names of its tables, as the control plane knows them."""
        return list(self._compiled()["tables"])

    def actions(self) -> List[str]:
        """The names of its actions, as the control plane knows them."""
        return list(self._compiled()["actions"])

    def _compiled(self) -> Dict[str, Any]:
        answer = ask("compile", **self._source)
        if not answer["compiled"]:
            raise Error(f"the program does not compile:\n{answer['text']}")
        return dict(answer)

    def run(
        self,
        packets: Iterable[Packet],
        *,
        entries: Union[Path, Sequence[Path], Mapping[str, str]] = (),
        port: int = 0,
        trace: bool = False,
    ) -> List[Outcome]:
        """Gives packets to the program, a microsecond apart, and tells what became of each.

        A packet is bytes or hexadecimal digits, which come in at `port`, or a pair of a port and one of these. Entries are files
        (runtime.json, commands.txt for simple_switch_CLI, entries.txtpb, STF), or texts by the name of such a file."""
        given = [packet if isinstance(packet, tuple) else (port, packet) for packet in packets]
        asked = [{"port": at, "bytes": data if isinstance(data, str) else bytes(data).hex()} for at, data in given]
        answer = ask("packets", program=self._source, entries=_entries(entries), packets=asked, trace=trace)
        return [Outcome(played) for played in answer["packets"]]

    def stf(self, case: str) -> Judgement:
        """Plays a case in p4c's Simple Test Framework, on a switch of its own."""
        return Judgement(ask("stf", program=self._source, case=case))

    def findings_table(self) -> Any:
        """A row per finding. A DataFrame where pandas is installed."""
        columns = ("severity", "file", "line", "column", "message")
        return table([{name: getattr(finding, name) for name in columns} for finding in self.check()])

    def __repr__(self) -> str:
        return f"<P4Program {self.name}>"


def _entries(entries: Union[Path, Sequence[Path], Mapping[str, str]]) -> List[Dict[str, str]]:
    if isinstance(entries, Mapping):
        return [{"name": name, "text": text} for name, text in entries.items()]
    paths = [entries] if isinstance(entries, (str, os.PathLike)) else list(entries)
    read = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            read.append({"name": os.fspath(path), "text": file.read()})
    return read
