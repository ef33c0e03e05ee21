"""A controller in plain gRPC: `controller.py ADDRESS P4INFO JSON`."""

import queue
import sys

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

DEVICE = 1
ELECTION = p4runtime_pb2.Uint128(high=0, low=1)


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
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest()
        request.device_id = DEVICE
        request.election_id.CopyFrom(ELECTION)
        request.action = request.VERIFY_AND_COMMIT
        request.config.p4info.CopyFrom(self.p4info)
        request.config.p4_device_config = config
        self.stub.SetForwardingPipelineConfig(request)

    def write(self, updates):
        """Changes tables."""
        request = p4runtime_pb2.WriteRequest(device_id=DEVICE, updates=updates)
        request.election_id.CopyFrom(ELECTION)
        self.stub.Write(request)

    def table(self, name):
        return next(t for t in self.p4info.tables if t.preamble.name == name)

    def action(self, name):
        return next(a for a in self.p4info.actions if a.preamble.name == name)

    def close(self):
        self.requests.put(None)


def update(switch, kind, network, length, mac, port):
    """An update of one route; of the default action, if it has no length."""
    table, action = switch.table("TheIngress.routes"), switch.action("TheIngress.forward")
    made = p4runtime_pb2.Update(type=kind)
    entry = made.entity.table_entry
    entry.table_id = table.preamble.id
    if length:
        match = entry.match.add(field_id=table.match_fields[0].id)
        match.lpm.value = network
        match.lpm.prefix_len = length
    else:
        entry.is_default_action = True
    call = entry.action.action
    call.action_id = action.preamble.id
    for param in action.params:
        value = {"mac": mac, "port": port}[param.name]
        call.params.add(param_id=param.id, value=value.lstrip(b"\0") or b"\0")
    return made


def routes(switch):
    """The updates that install the routes."""
    mac = lambda last: bytes([2, 0, 0, 0, 0, last])
    kind = p4runtime_pb2.Update
    return [
        update(switch, kind.INSERT, bytes([10, 1, 0, 0]), 16, mac(1), b"\1"),
        update(switch, kind.INSERT, bytes([10, 1, 2, 0]), 24, mac(2), b"\2"),
        update(switch, kind.MODIFY, None, 0, mac(3), b"\3"),
    ]


def main():
    address, p4info, config = sys.argv[1:]
    with open(p4info) as file:
        info = text_format.Parse(file.read(), p4info_pb2.P4Info())
    switch = Switch(address, info)
    with open(config, "rb") as file:
        switch.push(file.read())
    updates = routes(switch)
    if updates:
        switch.write(updates)
    switch.close()


if __name__ == "__main__":
    main()
