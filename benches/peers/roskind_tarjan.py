"""Edge-disjoint spanning trees of a topology file by passagemath-graphs: seconds, and the depth of every tree.

Usage: python roskind_tarjan.py TOPOLOGY COUNT. Depth is that of the tree hung on its centre.
"""
import json
import sys
import time

from sage.graphs.graph import Graph
from sage.graphs.spanning_tree import edge_disjoint_spanning_trees

with open(sys.argv[1]) as file:
    topology = json.load(file)
count = int(sys.argv[2])
switches = {switch["name"]: number for number, switch in enumerate(topology["switches"])}
ends = [(link["a"].rsplit(":", 1)[0], link["b"].rsplit(":", 1)[0]) for link in topology["links"]]
edges = [(switches[a], switches[b]) for a, b in ends if a in switches and b in switches]
graph = Graph(edges, format="list_of_edges")
start = time.perf_counter()
trees = edge_disjoint_spanning_trees(graph, count)
seconds = time.perf_counter() - start
depths = [int(tree.radius()) for tree in trees]
print(json.dumps({"seconds": seconds, "depths": depths}))
