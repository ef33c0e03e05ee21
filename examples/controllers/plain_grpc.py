"""A controller in plain gRPC (`pip install p4runtime-shell` brings `p4.v1` and a protobuf that fits): `plain_grpc.py ADDRESS P4INFO JSON`.

Takes the switch over, gives it its program, and writes entries by the names of the P4Info. Any P4Runtime server will do; programs for
`switchwright switch` and BMv2 come from `switchwright p4 compile PROGRAM.p4 -o JSON --p4runtime-files P4INFO`. Change ENTRIES to what your program has.
"""

import ipaddress
import queue
import sys

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

DEVICE = 1
ELECTION = p4runtime_pb2.Uint128(high=0, low=1)
# Table, match by key (none: the default action), action, data by parameter.
ENTRIES = [
    ("TheIngress.routes", {"hdr.ipv4.dst": "10.1.0.0/16"}, "TheIngress.forward", {"mac": "02:00:00:00:00:01", "port": 1}),
    ("TheIngress.routes", {"hdr.ipv4.dst": "10.1.2.0/24"}, "TheIngress.forward", {"mac": "02:00:00:00:00:02", "port": 2}),
    ("TheIngress.routes", None, "TheIngress.forward", {"mac": "02:00:00:00:00:03", "port": 3}),
]


def number(value):
    """A number, a MAC address or an IPv4 address, as P4Runtime has them: without zero bytes in front."""
    if isinstance(value, str) and ":" in value:
        value = int(value.replace(":", ""), 16)
    elif isinstance(value, str) and "." in value:
        value = int(ipaddress.ip_address(value))
    return int(value).to_bytes(max(1, (int(value).bit_length() + 7) // 8), "big")


class Switch:
    """One switch, of which this controller is primary."""

    def __init__(self, address, p4info):
        self.p4info = p4info
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(grpc.insecure_channel(address))
        self.requests = queue.Queue()
        self.answers = self.stub.StreamChannel(iter(self.requests.get, None))
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.device_id = DEVICE
        request.arbitration.election_id.CopyFrom(ELECTION)
        self.requests.put(request)
        answer = next(self.answers)
        if answer.arbitration.status.code != 0:
            raise SystemExit(f"not primary: {answer.arbitration.status.message}")

    def push(self, config):
        """Gives the switch its program."""
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(device_id=DEVICE)
        request.election_id.CopyFrom(ELECTION)
        request.action = request.VERIFY_AND_COMMIT
        request.config.p4info.CopyFrom(self.p4info)
        request.config.p4_device_config = config
        self.stub.SetForwardingPipelineConfig(request)

    def entry(self, table, match, action, data):
        """An update that adds an entry, or changes the default action."""
        table = next(t for t in self.p4info.tables if t.preamble.name == table)
        action = next(a for a in self.p4info.actions if a.preamble.name == action)
        kind = p4runtime_pb2.Update.MODIFY if match is None else p4runtime_pb2.Update.INSERT
        update = p4runtime_pb2.Update(type=kind)
        made = update.entity.table_entry
        made.table_id = table.preamble.id
        made.is_default_action = match is None
        for field in table.match_fields:
            value = (match or {}).get(field.name)
            if value is None:
                continue
            key = made.match.add(field_id=field.id)
            if field.match_type == p4info_pb2.MatchField.LPM:
                address, _, length = value.partition("/")
                key.lpm.value, key.lpm.prefix_len = number(address), int(length)
            else:
                key.exact.value = number(value)
        call = made.action.action
        call.action_id = action.preamble.id
        for param in action.params:
            call.params.add(param_id=param.id, value=number(data[param.name]))
        return update

    def write(self, updates):
        """Changes tables."""
        request = p4runtime_pb2.WriteRequest(device_id=DEVICE, updates=updates)
        request.election_id.CopyFrom(ELECTION)
        self.stub.Write(request)

    def close(self):
        self.requests.put(None)


def main():
    address, p4info, config = sys.argv[1:]
    with open(p4info) as file:
        info = text_format.Parse(file.read(), p4info_pb2.P4Info())
    switch = Switch(address, info)
    with open(config, "rb") as file:
        switch.push(file.read())
    switch.write([switch.entry(*entry) for entry in ENTRIES])
    switch.close()


if __name__ == "__main__":
    main()
