"""From a data-center topology and a policy to proven P4 data planes that run.

>>> import switchwright
>>> fabric = switchwright.Topology.jellyfish(switches=20, ports=8, fabric_ports=4, seed=7)
>>> plan = fabric.plan()
>>> plan.proven
True

The engine is that of the command `switchwright`, which the same wheel installs; docs/python.md tells more.
"""

from ._ask import Error, NotProven
from ._engine import VERSION as __version__
from ._plan import Plan, Proof, Trace
from ._program import Finding, Judgement, Outcome, P4Program
from ._simulation import Simulation, scenarios, simulate
from ._topology import Topology

__all__ = [
    "Error",
    "Finding",
    "Judgement",
    "NotProven",
    "Outcome",
    "P4Program",
    "Plan",
    "Proof",
    "Simulation",
    "Topology",
    "Trace",
    "__version__",
    "scenarios",
    "simulate",
]

# Errors are told by the name that they are imported by.
Error.__module__ = NotProven.__module__ = __name__
