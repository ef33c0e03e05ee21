#!/usr/bin/env python3
"""A plain script's Tagger: Algorithm 2 (greedy) over all shortest paths, as one would write it in an afternoon.

The peer that `switchwright bench plan` runs beside itself where python3 is found. It reads a Switchwright topology
file, prints one JSON object {"tags", "rules", "seconds"} and counts only the time of planning, not of reading.
"""

import json
import sys
import time
from collections import defaultdict, deque


def read(path):
    """Neighbours of every switch as {switch: [(neighbour, link)]}; a link is a directed pair of switches."""
    with open(path) as file:
        topology = json.load(file)
    switches = {s["name"] for s in topology["switches"]}
    near = defaultdict(list)
    for link in topology["links"]:
        a, b = link["a"].rsplit(":", 1)[0], link["b"].rsplit(":", 1)[0]
        if a in switches and b in switches:
            near[a].append(b)
            near[b].append(a)
    return switches, near


def distances(near, target):
    """Hops from every switch to `target`."""
    hops = {target: 0}
    queue = deque([target])
    while queue:
        here = queue.popleft()
        for there in near[here]:
            if there not in hops:
                hops[there] = hops[here] + 1
                queue.append(there)
    return hops


def brute_force(switches, near):
    """Algorithm 1: the edges ((link, tag) -> link) that some shortest path uses, with the tag as the hop number."""
    edges = defaultdict(set)
    for target in switches:
        hops = distances(near, target)
        # the depths at which a packet for `target` may stand on a link: its source may be any switch farther away
        depths = defaultdict(set)
        for switch in sorted(hops, key=lambda s: -hops[s]):
            arriving = depths[switch]
            arriving.add((None, 0))
            for there in near[switch]:
                if hops[there] == hops[switch] - 1:
                    link = (switch, there)
                    for before, depth in arriving:
                        edges[(before if before else ("host", switch), depth)].add(link)
                        depths[there].add((link, depth + 1))
    return edges


def reaches(graph, start, goal):
    """Whether `goal` can be reached from `start`."""
    stack, seen = [start], {start}
    while stack:
        here = stack.pop()
        if here == goal:
            return True
        for there in graph[here]:
            if there not in seen:
                seen.add(there)
                stack.append(there)
    return False


def greedy(edges):
    """Algorithm 2: walks the brute-force nodes by tag and merges each into the current subspace if that stays acyclic."""
    by_tag = defaultdict(list)
    for link, tag in edges:
        by_tag[tag].append(link)
    current, graph, rules, highest = 0, defaultdict(set), set(), 0
    for tag in sorted(by_tag):
        raised = False
        for link in sorted(by_tag[tag]):
            fits = not any(reaches(graph, after, link) for after in edges[(link, tag)])
            new = current if fits else current + 1
            raised |= not fits
            for after in edges[(link, tag)]:
                rules.add((link, after, new))
                if fits:
                    graph[link].add(after)
            highest = max(highest, new)
        if raised:
            current += 1
            graph = defaultdict(set)
            for link, after, new in rules:
                if new == current:
                    graph[link].add(after)
    return highest + 1, len(rules)


def main():
    switches, near = read(sys.argv[1])
    started = time.perf_counter()
    tags, rules = greedy(brute_force(switches, near))
    print(json.dumps({"tags": tags, "rules": rules, "seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main()
