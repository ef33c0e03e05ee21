"""Mininet switch class: every switch of the network is a `switchwright switch` process.

    from switchwright import SwitchwrightSwitch
    net = Mininet(topo=..., switch=SwitchwrightSwitch, controller=None)

    sudo python3 switchwright.py            # two hosts, one switch, pingall
    sudo python3 switchwright.py --p4 P4 --commands FILE

Ports are numbered as Mininet does it: s1-eth1 is port 1. Each switch serves P4Runtime at its own TCP port, 50051 and
counting. The command is found on PATH, or named by the environment variable SWITCHWRIGHT.
"""

import argparse
import itertools
import json
import os
import select
import subprocess
import sys

from mininet.net import Mininet
from mininet.node import Switch
from mininet.topo import SingleSwitchTopo

COMMAND = os.environ.get("SWITCHWRIGHT", "switchwright")
READY_SECONDS = 30
HERE = os.path.dirname(os.path.abspath(__file__))


class SwitchwrightSwitch(Switch):
    """A switch whose data plane is a P4 program.

    program   the P4 source or BMv2 JSON to start with; None waits for a controller to push one
    commands  lines for `switchwright cli`, run when the switch is up
    """

    addresses = itertools.count(50051)

    def __init__(self, name, program=None, commands=(), device_id=None, **options):
        super().__init__(name, **options)
        self.program = program
        self.lines = list(commands)
        self.port = next(SwitchwrightSwitch.addresses)
        self.device_id = self.port - 50051 if device_id is None else device_id
        self.address = "127.0.0.1:%d" % self.port
        self.process = None

    def start(self, controllers):
        line = [COMMAND, "--json", "switch", "--device-id", str(self.device_id)]
        for number, interface in sorted(self.intfs.items()):
            if interface.name != "lo":
                line += ["-i", "%d@%s" % (number, interface.name)]
        line.append(self.program if self.program else "--no-p4")
        line += ["--", "--grpc-server-addr", self.address]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        readable, _, _ = select.select([self.process.stdout], [], [], READY_SECONDS)
        answer = self.process.stdout.readline() if readable else ""
        if not answer or not json.loads(answer)["ready"]:
            raise RuntimeError("%s: the switch did not start" % self.name)
        if self.lines:
            self.cli(self.lines)

    def cli(self, lines):
        """Runs commands of simple_switch_CLI and returns what they print."""
        done = subprocess.run(
            [COMMAND, "cli", self.address, "--device-id", str(self.device_id)],
            input="\n".join(lines) + "\n", text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise RuntimeError("%s: %s" % (self.name, done.stderr))
        return done.stdout

    def stop(self, deleteIntfs=True):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(READY_SECONDS)
            self.process = None
        super().stop(deleteIntfs)


def static_entries(net, switch):
    """Every host's address at its port; broadcasts to all."""
    lines = ["mc_mgrp_create 1"]
    ports = []
    for host in net.hosts:
        interface = host.defaultIntf()
        other = interface.link.intf1 if interface.link.intf2 is interface else interface.link.intf2
        port = switch.ports[other]
        ports.append(str(port))
        lines.append("table_add Forward.where_to Forward.forward %s => %d" % (host.MAC(), port))
    lines.append("mc_node_create 1 " + " ".join(ports))
    lines.append("mc_node_associate 1 0")
    lines.append("table_add Forward.where_to Forward.flood ff:ff:ff:ff:ff:ff => 1")
    return lines


def running(program):
    """The switch class with a program."""
    def make(name, **options):
        return SwitchwrightSwitch(name, program=program, **options)
    return make


def main():
    parser = argparse.ArgumentParser(description="two hosts and one switch; pingall")
    parser.add_argument("--p4", default=os.path.join(HERE, "..", "switch", "router.p4"))
    parser.add_argument("--commands", help="lines for switchwright cli; the hosts' addresses if not given")
    parser.add_argument("--hosts", type=int, default=2)
    arguments = parser.parse_args()

    net = Mininet(topo=SingleSwitchTopo(k=arguments.hosts), switch=running(arguments.p4), controller=None,
                  autoSetMacs=True)
    net.start()
    try:
        switch = net.switches[0]
        if arguments.commands:
            with open(arguments.commands, encoding="utf-8") as file:
                lines = file.read().splitlines()
        else:
            lines = static_entries(net, switch)
        switch.cli(lines)
        lost = net.pingAll(timeout="5")
    finally:
        net.stop()
    return 0 if lost == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
