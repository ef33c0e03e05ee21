"""What the checks are made of: a client of PyPI's protos, short ways to write messages, ports, and the count of what held."""

import queue
import socket
import threading
import time

import grpc
from google.protobuf import text_format
from google.rpc import code_pb2, status_pb2
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as v1
from p4.v1 import p4runtime_pb2_grpc

DEVICE = 1
CPU = 255
WAIT = 20

INSERT, MODIFY, DELETE = v1.Update.INSERT, v1.Update.MODIFY, v1.Update.DELETE
CONTINUE = v1.WriteRequest.CONTINUE_ON_ERROR
ROLLBACK = v1.WriteRequest.ROLLBACK_ON_ERROR
ATOMIC = v1.WriteRequest.DATAPLANE_ATOMIC
SET = v1.SetForwardingPipelineConfigRequest


class Checks:
    """Counts; what differs is printed."""

    def __init__(self):
        self.count, self.failed, self.area = 0, 0, ""

    def same(self, name, got, want):
        self.count += 1
        if got != want:
            self.failed += 1
            said = ["%.600r" % (value,) for value in (got, want)]
            print("FAILED %s: %s\n    got      %s\n    expected %s" % (self.area, name, *said))

    def one_of(self, name, got, wanted):
        self.same(name, got in wanted or got, True)

    def holds(self, name, got):
        self.same(name, bool(got), True)


def code_name(code):
    return code_pb2.Code.Name(code)


def rpc_code(error):
    return code_name(error.code().value[0])


class Program:
    """Names of a P4Info."""

    def __init__(self, text, config):
        self.info = text_format.Parse(text, p4info_pb2.P4Info())
        self.config = config
        self.ids = {}
        for kind in ("tables", "actions", "action_profiles", "counters", "meters", "registers", "digests", "value_sets",
                     "direct_counters", "direct_meters"):
            for thing in getattr(self.info, kind):
                self.ids[kind, thing.preamble.alias] = thing.preamble.id
        self.fields = {t.preamble.alias: [(f.id, f.match_type) for f in t.match_fields] for t in self.info.tables}

    def id(self, kind, alias):
        return self.ids[kind, alias]

    def table(self, alias):
        return self.id("tables", alias)

    def profile(self, alias):
        return self.id("action_profiles", alias)

    def action(self, alias, *params):
        return v1.Action(action_id=self.id("actions", alias),
                         params=[v1.Action.Param(param_id=i + 1, value=value) for i, value in enumerate(params)])

    def key(self, table, *values):
        """A match per field: bytes for exact, (bytes, int) for LPM, (bytes, bytes) for ternary and range; None is left out."""
        match = []
        for (field, kind), value in zip(self.fields[table], values):
            if value is None:
                continue
            one = v1.FieldMatch(field_id=field)
            names = p4info_pb2.MatchField
            if kind == names.EXACT:
                one.exact.value = value
            elif kind == names.OPTIONAL:
                one.optional.value = value
            elif kind == names.LPM:
                one.lpm.value, one.lpm.prefix_len = value
            elif kind == names.TERNARY:
                one.ternary.value, one.ternary.mask = value
            elif kind == names.RANGE:
                one.range.low, one.range.high = value
            match.append(one)
        return match

    def entry(self, table, key, action=None, priority=0, **fields):
        """A table entry; `action` is an Action or a TableAction."""
        if isinstance(action, v1.Action):
            action = v1.TableAction(action=action)
        return v1.TableEntry(table_id=self.table(table), match=self.key(table, *key), action=action, priority=priority,
                             **fields)

    def config_message(self, cookie=None, info=None):
        config = v1.ForwardingPipelineConfig(p4info=info or self.info, p4_device_config=self.config)
        if cookie is not None:
            config.cookie.cookie = cookie
        return config


def entity(message):
    """An Entity around a message of any kind."""
    names = {v1.TableEntry: "table_entry", v1.ActionProfileMember: "action_profile_member",
             v1.ActionProfileGroup: "action_profile_group", v1.MeterEntry: "meter_entry",
             v1.DirectMeterEntry: "direct_meter_entry", v1.CounterEntry: "counter_entry",
             v1.DirectCounterEntry: "direct_counter_entry", v1.ValueSetEntry: "value_set_entry",
             v1.RegisterEntry: "register_entry", v1.DigestEntry: "digest_entry", v1.ExternEntry: "extern_entry",
             v1.PacketReplicationEngineEntry: "packet_replication_engine_entry"}
    if isinstance(message, v1.MulticastGroupEntry):
        message = v1.PacketReplicationEngineEntry(multicast_group_entry=message)
    if isinstance(message, v1.CloneSessionEntry):
        message = v1.PacketReplicationEngineEntry(clone_session_entry=message)
    return v1.Entity(**{names[type(message)]: message})


def update(verb, message):
    return v1.Update(type=verb, entity=entity(message))


def election(number):
    return v1.Uint128(high=number >> 64, low=number & (1 << 64) - 1)


class Client:
    """A connection with at most one stream."""

    def __init__(self, address, role="", number=None):
        options = [("grpc.max_metadata_size", 1 << 20), ("grpc.use_local_subchannel_pool", 1)]
        self.channel = grpc.insecure_channel(address, options=options)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.role, self.number = role, number
        self.outbox, self.inbox, self.call = None, None, None

    def open(self):
        """Opens a stream and says nothing."""
        self.outbox, self.inbox = queue.Queue(), queue.Queue()
        self.call = self.stub.StreamChannel(iter(self.outbox.get, None))
        threading.Thread(target=self._listen, args=(self.call, self.inbox), daemon=True).start()
        return self

    @staticmethod
    def _listen(call, inbox):
        try:
            for message in call:
                inbox.put(message)
            inbox.put("closed")
        except grpc.RpcError as error:
            inbox.put(rpc_code(error))

    def say(self, **update_fields):
        self.outbox.put(v1.StreamMessageRequest(**update_fields))

    def hear(self, wait=WAIT):
        """The next message, the code by which the stream ended, or None."""
        try:
            return self.inbox.get(timeout=wait)
        except queue.Empty:
            return None

    def hear_of(self, kind, wait=WAIT):
        """The next message of a kind; others are passed over."""
        end = time.monotonic() + wait
        while True:
            message = self.hear(max(0, end - time.monotonic()))
            if message is None or isinstance(message, str):
                return message
            if message.WhichOneof("update") == kind:
                return getattr(message, kind)

    def arbitrate(self, number=None, role=None, config=None, device=DEVICE):
        """Sends an arbitration update without waiting."""
        message = v1.MasterArbitrationUpdate(device_id=device)
        if number is not None:
            message.election_id.CopyFrom(election(number))
        role = self.role if role is None else role
        if role or config is not None:
            message.role.name = role
        if config is not None:
            message.role.config.CopyFrom(config)
        self.say(arbitration=message)

    def standing(self, wait=WAIT):
        """The next arbitration update as (code, election id), or how the stream ended."""
        message = self.hear_of("arbitration", wait)
        if message is None or isinstance(message, str):
            return message
        number = message.election_id.high << 64 | message.election_id.low if message.HasField("election_id") else None
        return code_name(message.status.code), number

    def hears(self, want, wait=WAIT):
        """`want` if such an arbitration update comes, else the last that came; a no-op of the primary is told to all, too."""
        heard, end = None, time.monotonic() + wait
        while heard != want and time.monotonic() < end:
            last = self.standing(max(0, end - time.monotonic()))
            heard = last if last is not None else heard
            if last is None or isinstance(last, str):
                break
        return heard

    def become(self, number, **fields):
        """Opens a stream and arbitrates."""
        self.number = number
        self.open()
        self.arbitrate(number, **fields)
        return self.standing()

    def close(self):
        if self.outbox is not None:
            self.outbox.put(None)
        if self.call is not None:
            self.call.cancel()
        self.channel.close()

    def _identity(self):
        fields = {"device_id": DEVICE, "role": self.role}
        if self.number is not None:
            fields["election_id"] = election(self.number)
        return fields

    def write_status(self, *updates, atomicity=CONTINUE, **changed):
        """The error of a Write, or None."""
        request = v1.WriteRequest(updates=updates, atomicity=atomicity, **dict(self._identity(), **changed))
        try:
            self.stub.Write(request, timeout=WAIT)
        except grpc.RpcError as error:
            return error

    def write(self, *updates, **changed):
        """The code of each update, or of the call where that failed as a whole."""
        error = self.write_status(*updates, **changed)
        if error is None:
            return ["OK"] * len(updates)
        return details(error)[1] or rpc_code(error)

    def one(self, verb, message):
        """The code of a Write of one update."""
        codes = self.write(update(verb, message))
        return codes[0] if isinstance(codes, list) else codes

    def read_status(self, *filters, **changed):
        """What was read, and the error or None."""
        fields = dict({"device_id": DEVICE, "role": self.role}, **changed)
        request = v1.ReadRequest(entities=[f if isinstance(f, v1.Entity) else entity(f) for f in filters], **fields)
        found = []
        try:
            for response in self.stub.Read(request, timeout=WAIT):
                found.extend(response.entities)
        except grpc.RpcError as error:
            return found, error
        return found, None

    def read(self, *filters, **changed):
        """The messages that were read, or the code of the only request, or of the call."""
        found, error = self.read_status(*filters, **changed)
        if error is not None:
            codes = details(error)[1]
            return codes[0] if len(codes) == 1 else codes or rpc_code(error)
        messages = [getattr(e, e.WhichOneof("entity")) for e in found]
        return [getattr(m, m.WhichOneof("type")) if isinstance(m, v1.PacketReplicationEngineEntry) else m
                for m in messages]

    def set(self, action, config=None, **changed):
        """The code of SetForwardingPipelineConfig."""
        fields = dict(self._identity(), **changed)
        request = SET(action=action, config=config, **fields)
        try:
            self.stub.SetForwardingPipelineConfig(request, timeout=60)
        except grpc.RpcError as error:
            return rpc_code(error)
        return "OK"

    def get(self, response_type=0, device=DEVICE):
        """The answer of GetForwardingPipelineConfig, or its code."""
        request = v1.GetForwardingPipelineConfigRequest(device_id=device, response_type=response_type)
        try:
            return self.stub.GetForwardingPipelineConfig(request, timeout=WAIT)
        except grpc.RpcError as error:
            return rpc_code(error)

    def capabilities(self, device=0):
        try:
            return self.stub.Capabilities(v1.CapabilitiesRequest(device_id=device), timeout=WAIT)
        except grpc.RpcError as error:
            return rpc_code(error)


def details(error):
    """The google.rpc.Status in a failed call's trailer, and the codes of its p4.v1.Errors."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            errors = []
            for one in status.details:
                parsed = v1.Error()
                one.Unpack(parsed)
                errors.append(parsed)
            return status, [code_name(e.canonical_code) for e in errors], errors
    return None, [], []


class Ports:
    """The far ends of the switch's ports, Unix datagram sockets in a folder."""

    def __init__(self, folder, count):
        self.folder, self.sockets = folder, {}
        for number in range(1, count + 1):
            end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            end.bind("%s/end%d" % (folder, number))
            self.sockets[number] = end

    def send(self, number, frame):
        self.sockets[number].sendto(frame, "%s/port%d" % (self.folder, number))

    def receive(self, number, wait=WAIT):
        """The next frame that leaves by a port, or None."""
        end = self.sockets[number]
        end.settimeout(wait)
        try:
            return end.recv(65536)
        except socket.timeout:
            return None

    def flush(self):
        for end in self.sockets.values():
            end.setblocking(False)
            try:
                while True:
                    end.recv(65536)
            except BlockingIOError:
                pass


def frame(kind=0, to=0, extra=0, payload=b""):
    """A packet as the program parses it."""
    return bytes([kind]) + to.to_bytes(4, "big") + extra.to_bytes(2, "big") + payload


def until(look, wait=WAIT):
    """Looks again and again until what is looked for is there."""
    end = time.monotonic() + wait
    while True:
        seen = look()
        if seen or time.monotonic() > end:
            return seen
        time.sleep(0.01)
