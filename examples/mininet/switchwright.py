"""Mininet switch class: every switch of the network is a `switchwright switch` process.

    from switchwright import SwitchwrightSwitch
    net = Mininet(topo=..., switch=SwitchwrightSwitch, controller=None)

    sudo /usr/bin/python3 switchwright.py            # two hosts, one switch, pingall
    sudo /usr/bin/python3 switchwright.py --p4 P4 --commands FILE
    sudo /usr/bin/python3 switchwright.py --build DIR   # the network of `switchwright build --formats tutorials`: program, entries, hosts; pingall
                                                        # and TCP
    sudo /usr/bin/python3 switchwright.py --build DIR --play FILE   # ... with lossless switches; UDP flows and link failures as FILE says,
                                                           # which `switchwright emulate DIR --mininet` writes

Mininet is a package of the system's Python: another python3 on PATH does not find it. What goes on is told on standard error, but with
--quiet. Ports are numbered as Mininet does it: s1-eth1 is port 1. Each switch serves P4Runtime at its own TCP port, 50051 and
counting. The command is found on PATH, or named by the environment variable SWITCHWRIGHT.
"""

import argparse
import ctypes
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time

try:
    from mininet.net import Mininet
    from mininet.node import Host, Switch
    from mininet.topo import SingleSwitchTopo, Topo
except ModuleNotFoundError as missing:
    sys.exit("switchwright.py: %s has no module `%s`; Mininet is installed for the system's Python (Debian: apt-get install mininet): "
             "run `sudo /usr/bin/python3 %s`" % (sys.executable, missing.name, " ".join(sys.argv)))

COMMAND = os.environ.get("SWITCHWRIGHT", "switchwright")
READY_SECONDS = 60
FILL_SECONDS = 300
PR_SET_PDEATHSIG = 1
HERE = os.path.dirname(os.path.abspath(__file__))


def end_with_this_process():
    """Has Linux end a child when this process is gone, however it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def is_ready(line):
    """Whether a switch says by its first line that it runs; an error's first line is a part of one."""
    try:
        return json.loads(line)["ready"]
    except (ValueError, KeyError):
        return False


class SwitchwrightSwitch(Switch):
    """A switch whose data plane is a P4 program.

    program   the P4 source or BMv2 JSON to start with; None waits for a controller to push one
    commands  lines for `switchwright cli`, run when the switch is up
    queues    egress queues per port
    lossless  a folder `switches/NAME` of a build directory, or a file: a lossless switch (PFC)
    rate      bits per second of a lossless switch's ports
    """

    addresses = itertools.count(50051)

    def __init__(self, name, program=None, commands=(), queues=None, device_id=None, lossless=None, rate=None, **options):
        super().__init__(name, **options)
        self.queues = queues
        self.lossless = lossless
        self.rate = rate
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
        if self.lossless:
            line += ["--lossless", self.lossless]
        if self.rate:
            line += ["--port-rate", "%dbps" % self.rate]
        line.append(self.program if self.program else "--no-p4")
        line += ["--", "--grpc-server-addr", self.address]
        if self.queues:
            line += ["--priority-queues", str(self.queues)]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, preexec_fn=end_with_this_process)
        readable, _, _ = select.select([self.process.stdout], [], [], READY_SECONDS)
        answer = self.process.stdout.readline() if readable else ""
        if not is_ready(answer):
            raise RuntimeError("%s: the switch did not start" % self.name)
        if self.lines:
            self.cli(self.lines)

    def cli(self, lines):
        """Runs commands of simple_switch_CLI and returns what they print."""
        done = subprocess.run(
            [COMMAND, "cli", self.address, "--device-id", str(self.device_id)],
            input="\n".join(lines) + "\n", text=True, capture_output=True, check=False, timeout=FILL_SECONDS)
        if done.returncode != 0:
            raise RuntimeError("%s: %s" % (self.name, done.stderr))
        return done.stdout

    def stop(self, deleteIntfs=True):
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(READY_SECONDS)
            except subprocess.TimeoutExpired:
                print("%s: the switch did not end; it is killed" % self.name, file=sys.stderr)
                self.process.kill()
                self.process.wait()
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


class PlainHost(Host):
    """A host whose interface is called eth0, as the commands of a build directory have it."""

    def config(self, **params):
        done = super().config(**params)
        self.defaultIntf().rename("eth0")
        return done


def entries_folder(switch):
    """The folder of a switch in its build directory."""
    return os.path.dirname(switch.get("cli_input") or switch["runtime_json"])


class BuiltTopo(Topo):
    """The network that a build directory describes in topology.json."""

    def build(self, network=None, lossless=None, rate=None, **options):
        for name, host in network["hosts"].items():
            self.addHost(name, cls=PlainHost, ip=host["ip"], mac=host["mac"])
        for name, switch in network["switches"].items():
            if lossless:
                self.addSwitch(name, lossless=os.path.join(lossless, entries_folder(switch)), rate=rate)
            else:
                self.addSwitch(name, queues=switch["priority_queues"])
        for a, b, *_ in network["links"]:
            ends, ports = [], {}
            for number, end in enumerate((a, b), 1):
                name, _, port = end.partition("-p")
                ends.append(name)
                if port:
                    ports["port%d" % number] = int(port)
            self.addLink(*ends, **ports)


def tcp_crosses(client, server, port=7000, length=1 << 20):
    """Sends bytes from one host to another and says whether they came."""
    listen = ("import socket; s = socket.create_server(('', %d)); print('ready', flush=True); c = s.accept()[0]; "
              "print(sum(len(x) for x in iter(lambda: c.recv(65536), b'')))" % port)
    connect = ("import socket; c = socket.create_connection(('%s', %d), 20); c.sendall(bytes(%d)); c.close()"
               % (server.IP(), port, length))
    listener = server.popen([sys.executable, "-c", listen], stdout=subprocess.PIPE, text=True)
    try:
        listener.stdout.readline()
        sender = client.popen([sys.executable, "-c", connect])
        if sender.wait(READY_SECONDS) != 0:
            return False
        return listener.communicate(timeout=READY_SECONDS)[0].strip() == str(length)
    finally:
        listener.kill()


SEND = """
import socket, sys, time
address, port, rate, packet, stop = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
data, sent, start = bytes(packet - 42), 0, time.monotonic()
while time.monotonic() - start < stop:
    s.sendto(data, (address, port))
    sent += 1
    time.sleep(max(0, start + sent * (packet + 24) * 8 / rate - time.monotonic()))
"""

RECEIVE = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", int(sys.argv[1])))
s.settimeout(float(sys.argv[2]))
print("ready", flush=True)
got = 0
try:
    while True:
        got += len(s.recv(65536)) + 42
except TimeoutError:
    pass
print(got)
"""


def play(net, script, shown):
    """UDP flows by the hosts' own stacks, and links that fail and work again; prints what every flow got."""
    receivers, todo = {}, []
    for number, flow in enumerate(script["flows"]):
        port = 20000 + number
        line = [sys.executable, "-c", RECEIVE, str(port), str(script["seconds"] + 5)]
        receiver = net[shown[flow["to"]]].popen(line, stdout=subprocess.PIPE, text=True)
        receiver.stdout.readline()
        receivers[flow["name"]] = receiver
        todo.append((flow["start"], "flow", (flow, port)))
    todo += [(event["at"], "link", event) for event in script["links"]]
    todo.sort(key=lambda entry: entry[0])
    start, senders = time.monotonic(), []
    try:
        for at, kind, what in todo:
            time.sleep(max(0, start + at - time.monotonic()))
            if kind == "link":
                net.configLinkStatus(shown[what["a"]], shown[what["b"]], "up" if what["up"] else "down")
                print("%.1f s: %s-%s %s" % (at, what["a"], what["b"], "works" if what["up"] else "failed"), flush=True)
            else:
                flow, port = what
                line = [sys.executable, "-c", SEND, net[shown[flow["to"]]].IP(), str(port), str(flow["rate"]),
                        str(flow["packet"]), str(flow["stop"] - at)]
                senders.append(net[shown[flow["from"]]].popen(line))
        time.sleep(max(0, start + script["seconds"] - time.monotonic()))
        for flow in script["flows"]:
            output = receivers[flow["name"]].communicate(timeout=script["seconds"] + READY_SECONDS)[0]
            lasted = max(min(flow["stop"], script["seconds"]) - flow["start"], 1e-3)
            print("%s: %.3f Mb/s" % (flow["name"], int(output or 0) * 8 / lasted / 1e6), flush=True)
    finally:
        for process in senders + list(receivers.values()):
            process.kill()


def run_built(directory, script=None, tell=lambda _: None):
    """Starts the network of a build directory, fills the switches by their commands, pings and sends by TCP; or plays."""
    if not os.path.isfile(os.path.join(directory, "topology.json")):
        sys.exit("%s holds nothing for Mininet: build it with `switchwright build --formats tutorials`" % directory)
    with open(os.path.join(directory, "topology.json"), encoding="utf-8") as file:
        network = json.load(file)
    with open(os.path.join(directory, "manifest.json"), encoding="utf-8") as file:
        program = os.path.join(directory, json.load(file)["program"]["main"])
    options = {"lossless": directory, "rate": script["rate"]} if script else {}
    tell("starting %d hosts and %d switches" % (len(network["hosts"]), len(network["switches"])))
    net = Mininet(topo=BuiltTopo(network=network, **options), switch=running(program), controller=None)
    try:
        net.start()
        tell("giving the hosts their routes")
        for host in net.hosts:
            for line in network["hosts"][host.name]["commands"]:
                host.cmd(line)
        for number, switch in enumerate(net.switches, 1):
            tell("filling switch %d of %d: %s" % (number, len(net.switches), switch.name))
            commands = os.path.join(directory, entries_folder(network["switches"][switch.name]), "commands.txt")
            with open(commands, encoding="utf-8") as file:
                switch.cli(file.read().splitlines())
        if script:
            shown = {node.get("own_name", name): name
                     for kind in ("hosts", "switches") for name, node in network[kind].items()}
            tell("playing for %.1f s; flows: %s" % (script["seconds"], ", ".join(flow["name"] for flow in script["flows"])))
            play(net, script, shown)
            return 0
        tell("pinging from every host to every other")
        lost = net.pingAll(timeout="5")
        crossed = tcp_crosses(net.hosts[0], net.hosts[-1])
        print("TCP from %s to %s: %s" % (net.hosts[0], net.hosts[-1], "crossed" if crossed else "lost"))
    finally:
        net.stop()
    return 0 if lost == 0 and crossed else 1


def main():
    parser = argparse.ArgumentParser(description="two hosts and one switch; pingall")
    parser.add_argument("--p4", default=os.path.join(HERE, "..", "switch", "router.p4"))
    parser.add_argument("--commands", help="lines for switchwright cli; the hosts' addresses if not given")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--build", metavar="DIR", help="the network of this build directory instead")
    parser.add_argument("--play", metavar="FILE", help="with --build: flows and link failures")
    parser.add_argument("--quiet", action="store_true", help="do not tell what goes on")
    arguments = parser.parse_args()
    if arguments.build:
        script = None
        if arguments.play:
            with open(arguments.play, encoding="utf-8") as file:
                script = json.load(file)
        tell = (lambda _: None) if arguments.quiet else (lambda line: print(line, file=sys.stderr, flush=True))
        return run_built(arguments.build, script, tell)

    net = Mininet(topo=SingleSwitchTopo(k=arguments.hosts), switch=running(arguments.p4), controller=None,
                  autoSetMacs=True)
    try:
        net.start()
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
