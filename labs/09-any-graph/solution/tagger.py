"""The tag is the number of switches crossed: it only rises, so no circle closes. Reads given/plan.json, computes tag rules, writes plan.json."""

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


def distances(start):
    """Links between a switch and all others."""
    found, queue = {start: 0}, [start]
    for node in queue:
        for neighbour in ports[node].values():
            if neighbour in ports and neighbour not in found:
                found[neighbour] = found[node] + 1
                queue.append(neighbour)
    return found


# A packet from a host of `start` comes to a switch that is d links away with tag d. On a shortest path it came from d - 1 and goes on to d + 1.
rules = {switch: set() for switch in ports}
last = 0
for start in ports:
    away = distances(start)
    for switch, d in away.items():
        for a, before in ports[switch].items():
            if (before in ports and away[before] != d - 1) or (before not in ports and d > 0):
                continue
            for b, after in ports[switch].items():
                if a == b:
                    continue
                if after not in ports:
                    rules[switch].add((d, a, b, d))
                elif away[after] == d + 1:
                    rules[switch].add((d, a, b, d + 1))
                    last = max(last, d + 1)

plan["tags"] = [{"tag": tag, "priority": tag + 1, "code": tag + 1} for tag in range(last + 1)]
plan["rules"] = [
    {"switches": [switch], "rules": [{"tag": t, "in": str(a), "out": str(b), "new": n} for t, a, b, n in sorted(found)]}
    for switch, found in rules.items()
]
with open("plan.json", "w") as file:
    json.dump(plan, file, indent=1)
    file.write("\n")
