"""Validates config_db.json files against SONiC's YANG models.

    validate.py SONIC_BUILDIMAGE FILE...

SONIC_BUILDIMAGE is a checkout of sonic-net/sonic-buildimage. Needs yangson, and pyang for the models of the IETF (both PyPI).
Prints a line a file; the exit status is 1 if one does not validate.
"""

import json
import pathlib
import re
import sys
import tempfile

from yangson import DataModel
from yangson.schemanode import ContainerNode, LeafListNode, LeafNode, ListNode


# What SONiC's models import beside each other.
IETF = ("ietf-inet-types", "ietf-yang-types")


def plain(text):
    """A template as SONiC's Python tools see it: of each choice the other one."""
    choice = r"{%\s*if[^%]*%}.*?{%\s*else\s*%}(.*?){%\s*endif\s*%}"
    return re.sub(choice, r"\1", text, flags=re.S)


def models(buildimage, folder):
    """Copies the models into one folder, templates rendered; the modules by name with revision and namespace."""
    root = pathlib.Path(buildimage) / "src" / "sonic-yang-models"
    sources = [*root.glob("yang-models/*.yang"), *root.glob("yang-templates/*.yang.j2")]
    standard = pathlib.Path(sys.prefix) / "share" / "yang" / "modules" / "ietf"
    sources += [standard / f"{name}.yang" for name in IETF]
    modules = {}
    for source in sorted(sources):
        text = source.read_text()
        if source.suffix == ".j2":
            text = plain(text)
        name = re.search(r"^\s*module\s+([\w.-]+)", text, re.M)
        if not name:
            continue
        revision = re.search(r"^\s*revision\s+\"?([\d-]+)", text, re.M)
        revision = revision.group(1) if revision else ""
        space = re.search(r"namespace\s+\"([^\"]+)\"", text).group(1)
        # yangson knows no text(); a leaf's own value is the same.
        text = text.replace("[text()=", "[.=")
        end = f"@{revision}" if revision else ""
        (folder / f"{name.group(1)}{end}.yang").write_text(text)
        modules[name.group(1)] = (revision, space, text)
    return modules


def needed(modules, tables):
    """The modules that declare these tables, and all that they import."""
    wanted = {
        name
        for name, (_, _, text) in modules.items()
        for table in tables
        if re.search(rf"^\s*container\s+{table}\s*{{", text, re.M)
    }
    todo = list(wanted)
    while todo:
        for name in re.findall(r"^\s*import\s+([\w.-]+)", modules[todo.pop()][2], re.M):
            if name in modules and name not in wanted:
                wanted.add(name)
                todo.append(name)
    return sorted(wanted)


def library(modules, names):
    """What yangson wants to know of the modules (RFC 7895)."""
    entries = [
        {
            "name": name,
            "revision": modules[name][0],
            "namespace": modules[name][1],
            "conformance-type": "implement",
        }
        for name in names
    ]
    return json.dumps({"ietf-yang-library:modules-state": {"module-set-id": "x", "module": entries}})


def children(node):
    for child in node.children:
        if isinstance(child, (ContainerNode, ListNode, LeafNode, LeafListNode)):
            yield child
        elif hasattr(child, "children"):
            yield from children(child)


def raw(leaf, value):
    """A value as RFC 7951 has it: numbers of up to 32 bits are numbers."""
    for candidate in (value, int(value) if re.fullmatch(r"-?\d+", str(value)) else None):
        if candidate is None:
            continue
        try:
            if leaf.type.from_raw(candidate) is not None:
                return candidate
        except Exception:
            pass
    return value


def fields(node, row, place):
    """The fields of a row."""
    known = {child.name: child for child in children(node)}
    made = {}
    for name, value in row.items():
        leaf = known.get(name)
        if leaf is None:
            raise ValueError(f"{place}: the models know no field {name}")
        if isinstance(leaf, LeafListNode):
            made[name] = [raw(leaf, one) for one in (value if isinstance(value, list) else [value])]
        else:
            made[name] = raw(leaf, value)
    return made


def rows(table, node, content):
    """A table as the models have it: lists of rows, keys as leaves."""
    lists = [child for child in children(node) if isinstance(child, ListNode)]
    boxes = {child.name: child for child in children(node) if isinstance(child, ContainerNode)}
    made = {}
    for key, row in content.items():
        if key in boxes:
            made[key] = fields(boxes[key], row, f"{table}|{key}")
            continue
        parts = key.split("|")
        fitting = [one for one in lists if len(one.keys) == len(parts)]
        if not fitting:
            raise ValueError(f"{table}: no list takes the key {key}")
        node = fitting[0]
        entry = {name: part for (name, _), part in zip(node.keys, parts)}
        inner = [child for child in children(node) if isinstance(child, ListNode)]
        if inner:
            known = {child.name: child for child in children(inner[0])}
            (name, _), = inner[0].keys
            other, = [child for child in known if child != name]
            entry[inner[0].name] = [
                {name: raw(known[name], k), other: raw(known[other], v)} for k, v in row.items()
            ]
        else:
            entry.update(fields(node, row, f"{table}|{key}"))
        made.setdefault(node.name, []).append(entry)
    return made


def main():
    buildimage, files = sys.argv[1], sys.argv[2:]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        modules = models(buildimage, folder)
        configs = {file: json.loads(pathlib.Path(file).read_text()) for file in files}
        tables = sorted({table for config in configs.values() for table in config})
        names = needed(modules, tables)
        model = DataModel(library(modules, names), [str(folder)])
        homes = {}
        for top in model.schema.children:
            if isinstance(top, ContainerNode):
                for child in children(top):
                    homes.setdefault(child.name, (top, child))
        for file, config in configs.items():
            try:
                whole = {}
                for table, content in config.items():
                    top, node = homes[table]
                    whole.setdefault(f"{top.ns}:{top.name}", {})[table] = rows(table, node, content)
                model.from_raw(whole).validate()
                print(f"valid: {file}")
            except Exception as error:
                bad += 1
                print(f"INVALID: {file}: {type(error).__name__}: {error}")
    sys.exit(1 if bad else 0)


main()
