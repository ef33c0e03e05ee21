"""A controller with p4runtime-shell (`pip install p4runtime-shell`): `with_shell.py ADDRESS P4INFO JSON`.

Takes the switch over, gives it its program, and fills a table. Any P4Runtime server will do; programs for `switchwright switch` and BMv2 come from
`switchwright p4 compile PROGRAM.p4 -o JSON --p4runtime-files P4INFO`. Change ROUTES and DEFAULT to what your program has.
"""

import sys

import p4runtime_sh.shell as sh

ROUTES = [
    ("10.1.0.0/16", {"mac": "02:00:00:00:00:01", "port": "1"}),
    ("10.1.2.0/24", {"mac": "02:00:00:00:00:02", "port": "2"}),
]
DEFAULT = {"mac": "02:00:00:00:00:03", "port": "3"}


def main():
    address, p4info, config = sys.argv[1:]
    sh.setup(
        device_id=1,
        grpc_addr=address,
        election_id=(0, 1),
        config=sh.FwdPipeConfig(p4info, config),
        verbose=False,
    )
    for destination, data in ROUTES:
        entry = sh.TableEntry("TheIngress.routes")(action="TheIngress.forward")
        entry.match["hdr.ipv4.dst"] = destination
        for name, value in data.items():
            entry.action[name] = value
        entry.insert()
    entry = sh.TableEntry("TheIngress.routes")(action="TheIngress.forward", is_default=True)
    for name, value in DEFAULT.items():
        entry.action[name] = value
    entry.modify()
    sh.teardown()


if __name__ == "__main__":
    main()
