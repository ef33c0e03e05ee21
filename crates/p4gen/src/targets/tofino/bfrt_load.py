# Loads switches/NAME/bfrt.json into a Tofino, with bfrt_python (the `bfshell` of Intel's SDE or of open-p4studio).
#
#     SWITCHWRIGHT_BFRT=/path/to/switches/NAME/bfrt.json bfshell -b /path/to/bfrt_load.py
#
# Every table that the file names is emptied first and filled anew. The format is described in docs/bfrt.md.

import json
import keyword
import os

path = os.environ.get("SWITCHWRIGHT_BFRT", "bfrt.json")
with open(path) as file:
    build = json.load(file)
if build["format"] != "switchwright-bfrt" or build["version"] != 1:
    raise SystemExit("%s is not a switchwright-bfrt file of version 1" % path)


def node(table):
    """The node of a table: bfrt.PROGRAM.pipe.CONTROL.TABLE."""
    at = getattr(bfrt, build["program"])
    for name in table.split("."):
        at = getattr(at, name)
    return at


def plain(name, prefix):
    """BF Runtime's `$NAME` is `NAME` in Python, and `class`, which is a word of Python's, `key_class`."""
    name = name.replace("$", "")
    return prefix + name if keyword.iskeyword(name) else name


def named(entry):
    """What bfrt_python calls the fields of an entry. Where a field of the key and one of the data have one name, all of
    the key's end in `_key` and all of the data's in `_data`."""
    key = {name: plain(name, "key_") for name in entry["key"]}
    data = {name: plain(name, "data_") for name in entry["data"]}
    if set(key.values()) & set(data.values()):
        key = {name: found + "_key" for name, found in key.items()}
        data = {name: found + "_data" for name, found in data.items()}
    return key, data


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def arguments(entry):
    """Key and data of an entry as the arguments that bfrt_python wants."""
    key, data = named(entry)
    found = {}
    for name, value in entry["key"].items():
        if isinstance(value, dict):
            found[key[name]] = number(value["value"])
            if "mask" in value:
                found[key[name] + "_mask"] = number(value["mask"])
            else:
                found[key[name] + "_p_length"] = value["prefix_len"]
        else:
            found[key[name]] = number(value)
    for name, value in entry["data"].items():
        found[data[name]] = value if isinstance(value, list) else number(value)
    return found


def install(table, entry):
    if entry.get("action"):
        # `ingress.next_hop` is `add_with_next_hop`.
        adder = getattr(table, "add_with_" + entry["action"].rsplit(".", 1)[-1])
    else:
        adder = table.add
    adder(**arguments(entry))


bfrt.batch_begin()
try:
    # Users before what they use: tables, then groups, then members.
    for table in reversed(build["tables"]):
        node(table["table"]).clear()
    for table in build["tables"]:
        for entry in table["entries"]:
            install(node(table["table"]), entry)
finally:
    bfrt.batch_end()
bfrt.complete_operations()
print("%s: %d entries" % (build["switch"], sum(len(t["entries"]) for t in build["tables"])))
