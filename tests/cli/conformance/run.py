"""P4Runtime 1.5, checked with the protos of PyPI's p4runtime against a running switch that has no pipeline yet.

    run.py ADDRESS P4INFO PROGRAM FOLDER

The switch is device 1 with the CPU port 255 and ports 1 to 4, Unix datagram sockets `FOLDER/portN` whose far ends are here
(`FOLDER/endN`). What is expected is what the specification says; a section's number is in front of each failure.
"""

import sys

import batches
import entries
import pipeline
import resources
import session
from rig import Checks, Client, Ports, Program


def main(address, info, program, folder):
    with open(info) as text, open(program, "rb") as config:
        program = Program(text.read(), config.read())
    program.digest = program.info.digests[0].preamble.id
    ports = Ports(folder, 4)
    checks = Checks()
    session.run(checks, address, program)
    client = Client(address)
    client.become(1)
    pipeline.run(checks, client, program)
    entries.run(checks, client, program, ports)
    resources.run(checks, client, program, ports)
    batches.run(checks, client, program)
    batches.packets(checks, client, program, ports, address)
    session.run_with_pipeline(checks, address, program)
    resources.weights_of_the_switch(checks, client, program)
    client.close()
    print("%d checks, %d failed" % (checks.count, checks.failed))
    return checks.failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
