"""Tests of the wheel, as it is installed: the examples of its documents, the command, interruptions, tables.

    python crates/python/tests/run.py            # without pandas
    python crates/python/tests/run.py WithPandas
"""

import doctest
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

import switchwright

ROOT = Path(__file__).resolve().parents[3]
COMMAND = str(Path(sysconfig.get_path("scripts")) / "switchwright")
MODULES = ["switchwright"] + [f"switchwright.{name}" for name in ("_ask", "_plan", "_program", "_simulation", "_topology")]
PATIENCE = 60
"""Seconds that anything may take."""


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE, **options)


class Documents(unittest.TestCase):
    """What documents say is so."""

    def test_docstrings(self):
        tried = 0
        for name in MODULES:
            outcome = doctest.testmod(importlib.import_module(name))
            self.assertEqual(outcome.failed, 0, name)
            tried += outcome.attempted
        self.assertGreater(tried, 60)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                for path in (ROOT / "docs/python.md", ROOT / "crates/python/README.md"):
                    outcome = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS)
                    self.assertEqual(outcome.failed, 0, path)
                    self.assertGreater(outcome.attempted, 3, path)
            finally:
                os.chdir(here)


class Command(unittest.TestCase):
    """The command is the same as the program."""

    def test_version(self):
        told = run(COMMAND, "--version")
        self.assertEqual(told.returncode, 0)
        self.assertRegex(told.stdout, rf"^switchwright {re.escape(switchwright.__version__)} \(.*profile [a-z]+\)\n$")
        module = run(sys.executable, "-m", "switchwright", "--version")
        self.assertEqual(module.stdout, told.stdout)

    def test_statuses(self):
        self.assertEqual(run(COMMAND, "plan", "no-such-file").returncode, 2)
        self.assertEqual(run(COMMAND, "no-such-command").returncode, 2)
        with tempfile.TemporaryDirectory() as folder:
            ring, plan = folder + "/ring.json", folder + "/plan.json"
            self.assertEqual(run(COMMAND, "topo", "ring", "4", "-o", ring).returncode, 0)
            refused = run(COMMAND, "plan", ring, "--scheme", "ecmp", "--json")
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertEqual(run(COMMAND, "plan", ring, "-o", plan).returncode, 0)
            self.assertTrue(switchwright.Plan.read(plan).proven)

    def test_names_of_other_tools(self):
        with tempfile.TemporaryDirectory() as folder:
            link = folder + "/p4c-bm2-ss"
            os.symlink(COMMAND, link)
            told = run(link, "--version")
            self.assertEqual(told.returncode, 0, told.stderr)

    def test_the_command_starts_itself_again(self):
        asked = json.dumps({"call": "about"}) + "\n"
        for line in ((COMMAND, "answer-page"), (sys.executable, "-m", "switchwright", "answer-page")):
            told = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            told.stdin.write(asked)
            told.stdin.flush()
            self.assertEqual(json.loads(told.stdout.readline())["ok"]["version"], switchwright.__version__)
            told.stdin.close()
            told.wait(timeout=PATIENCE)
            told.stdout.close()

    def test_the_server_of_the_page_has_its_engine_and_ends_by_ctrl_c(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "index.html").write_text("<!doctype html><title>page</title>", encoding="utf-8")
            Path(folder, "assets").mkdir()
            for line in ((COMMAND,), (sys.executable, "-m", "switchwright")):
                server = subprocess.Popen([*line, "lab", "--page", folder, "--json"], stdout=subprocess.PIPE, text=True)
                self.addCleanup(server.kill)
                text = ""
                for part in server.stdout:
                    text += part
                    if part == "}\n":
                        break
                address = json.loads(text)["address"]
                origin = address[: address.index("/", 8)]
                asked = urllib.request.Request(address + "call", b'{"call":"about"}', {"Origin": origin, "Content-Type": "application/json"})
                with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                    self.assertIn("version", json.load(answer)["ok"])
                server.send_signal(signal.SIGINT)
                server.stdout.close()
                server.wait(timeout=PATIENCE)


def computing():
    """Threads of this process that work on a request: the engine's, and those that it started, which have its name."""
    running = 0
    for task in Path("/proc/self/task").iterdir():
        try:
            name, _, rest = (task / "stat").read_text(encoding="utf-8").rpartition(")")
        except OSError:
            # It has ended meanwhile.
            continue
        running += name.endswith("(engine") and rest.split()[0] == "R"
    return running


class Interruptions(unittest.TestCase):
    """Ctrl-C stops what computes."""

    def interrupted(self, work):
        """Interrupts a request that runs, which would take hours, and sees it end."""

        def interrupt(*_):
            if computing():
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        # Again and again: the first may come between two requests.
        signal.setitimer(signal.ITIMER_REAL, 0.5, 0.05)
        try:
            with self.assertRaises(KeyboardInterrupt):
                work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        # At rest for so long that nothing waits for another of its threads.
        deadline, resting = time.monotonic() + PATIENCE, 0
        while resting < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
            resting = 0 if computing() else resting + 1
        self.assertEqual(resting, 20)

    def test_a_search_ends_and_the_next_request_is_answered(self):
        fish = switchwright.Topology.jellyfish(switches=200, ports=24, fabric_ports=12)
        self.interrupted(lambda: fish.plan(algorithm="optimal", search_moves=10**15))
        self.assertTrue(switchwright.Topology.ring(4).plan().proven)

    def test_failover_tables_and_their_proof_end(self):
        fish = switchwright.Topology.jellyfish(switches=100, ports=24, fabric_ports=12)
        self.interrupted(lambda: fish.plan("plinko", resilience=3))
        self.assertTrue(switchwright.Topology.ring(4).plan().proven)

    def test_a_simulation_ends_between_two_events_and_runs_on(self):
        fish = switchwright.Topology.jellyfish(switches=20, ports=8, fabric_ports=4).plan()
        flows = [{"from": f"h{n}", "to": f"h{n + 40}"} for n in range(1, 40)]
        simulation = fish.simulate({"name": "long", "duration": "3600s", "flows": flows})
        self.interrupted(simulation.run)
        self.assertFalse(simulation.ended)
        until = simulation.now_us + 1
        simulation.run(until_us=until)
        self.assertGreaterEqual(simulation.now_us, until)
        simulation.close()


class Python(unittest.TestCase):
    """What only Python sees."""

    def test_there_are_no_limits_for_the_owner(self):
        self.assertEqual(len(switchwright.Topology.line(3_100, hosts=0).switches), 3_100)

    def test_codes_and_priorities_are_chosen(self):
        plan = switchwright.Topology.clos(leaves=4, spines=2, hosts=2).plan(codes=[46], tag_priorities=[5, 6])
        tags = json.loads(plan.to_json())["tags"]
        self.assertEqual([(tag["code"], tag["priority"]) for tag in tags], [(46, 5), (26, 6)])

    def test_what_is_not_proven_builds_nothing(self):
        plain = switchwright.Topology.clos(leaves=4, spines=2, hosts=2).plan(bounces=1, without_tags=True)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(switchwright.NotProven) as refused:
                plain.build(folder + "/clos")
            self.assertEqual(len(refused.exception.proof.cycle), 2)
            self.assertEqual(os.listdir(folder), [])

    def test_a_build_is_that_of_the_command(self):
        plan = switchwright.Topology.fat_tree(4).plan()
        with tempfile.TemporaryDirectory() as folder:
            plan.save(folder + "/plan.json")
            plan.build(folder + "/ours")
            done = run(COMMAND, "build", folder + "/plan.json", "-o", folder + "/theirs")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(run("diff", "-r", folder + "/ours", folder + "/theirs").stdout, "")
            with self.assertRaises(switchwright.Error):
                plan.build(folder + "/none", target="abacus")

    def test_programs_of_files_include_files_and_take_entries(self):
        plan = switchwright.Topology.three_node().plan()
        with tempfile.TemporaryDirectory() as folder:
            plan.save(folder + "/plan.json")
            formats = ("--formats", "txtpb,commands,tutorials")
            done = run(COMMAND, "build", folder + "/plan.json", *formats, "-o", folder + "/built")
            self.assertEqual(done.returncode, 0, done.stderr)
            manifest = json.loads(Path(folder, "built/manifest.json").read_text(encoding="utf-8"))
            program = switchwright.P4Program(folder + "/built/" + manifest["program"]["main"])
            self.assertEqual(program.check(), [])
            switch = Path(folder, "built", manifest["switches"][0]["directory"])
            frame = bytes.fromhex("ffffffffffff000000000001") + b"\x08\x00" + bytes(46)
            files = sorted(path for path in switch.rglob("*") if path.name in ("entries.txtpb", "runtime.json", "commands.txt"))
            self.assertEqual(len(files), 3)
            outcomes = [program.run([(1, frame)], entries=path, trace=True)[0] for path in files]
            self.assertTrue(outcomes[0].trace)
            self.assertEqual(len({str(outcome.trace) for outcome in outcomes}), 1)
            # And as JSON for BMv2.
            source, compiled, info = folder + "/built/" + manifest["program"]["main"], folder + "/main.json", folder + "/main.txtpb"
            done = run(COMMAND, "p4", "compile", source, "-o", compiled, "--p4runtime-files", info)
            self.assertEqual(done.returncode, 0, done.stderr)
            of_json = switchwright.P4Program(compiled, p4info=info)
            self.assertEqual((of_json.check(), of_json.tables()), ([], program.tables()))
            self.assertEqual(str(of_json.run([(1, frame)])), str(program.run([(1, frame)])))
            with self.assertRaisesRegex(switchwright.Error, "P4Info"):
                switchwright.P4Program(compiled).run([(1, frame)], entries=files[0])
            with self.assertRaisesRegex(switchwright.Error, "P4 source has its own"):
                switchwright.P4Program(source, p4info=info).check()
        with self.assertRaises(switchwright.Error):
            switchwright.P4Program("no/such/file.p4").check()

    def test_without_pandas_tables_are_lists(self):
        try:
            import pandas
        except ImportError:
            self.assertIsInstance(switchwright.Topology.ring(3).link_table(), list)
        else:
            self.assertIsInstance(switchwright.Topology.ring(3).link_table(), pandas.DataFrame)


class WithPandas(unittest.TestCase):
    """Figures are DataFrames."""

    def test_tables(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        plan = switchwright.Topology.ring(6).plan()
        simulation = switchwright.simulate("bounce")
        tables = [
            plan.tags(),
            plan.entries(),
            plan.trace("h1", "h4").table(),
            simulation.flows(),
            simulation.switches(),
            simulation.classes(),
        ]
        for table in tables:
            self.assertIsInstance(table, pandas.DataFrame)
            self.assertGreater(len(table), 0)
        self.assertIn("gbps", simulation.flows().columns)


if __name__ == "__main__":
    unittest.main()
