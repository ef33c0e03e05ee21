"""Reads given/plan.json, computes tag rules, writes plan.json. Any language will do; this is a start in Python."""

import json

plan = json.load(open("given/plan.json"))
topology = plan["topology"]

# The ports of every switch: port -> name of the neighbour.
ports = {switch["name"]: {} for switch in topology["switches"]}
for link in topology["links"]:
    ends = [link["a"].split(":"), link["b"].split(":")]
    for (node, port), (neighbour, _) in (ends, ends[::-1]):
        if node in ports:
            ports[node][int(port)] = neighbour

# TODO: this keeps the one tag, whatever a packet does. `switchwright check plan.json` tells what comes of it.
rules = []
for switch, neighbours in ports.items():
    every = [
        {"tag": 0, "in": str(a), "out": str(b), "new": 0}
        for a in neighbours
        for b in neighbours
        if a != b
    ]
    rules.append({"switches": [switch], "rules": every})

plan["tags"] = [{"tag": 0, "priority": 1, "code": 1}]
plan["rules"] = rules
with open("plan.json", "w") as file:
    json.dump(plan, file, indent=1)
    file.write("\n")
