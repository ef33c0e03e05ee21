"""Chapters 10 and 12: batches, their atomicity, and what is said of those that fail. Section 16.1: packets."""

from rig import *


def route(p, number, port=1):
    return p.entry("routes", [(bytes([10, number, 0, 0]), 16)], p.action("send", bytes([port])))


def here(client, p):
    return sorted(e.match[0].lpm.value[1] for e in client.read(v1.TableEntry(table_id=p.table("routes"))))


def bad(p):
    return p.entry("routes", [(b"\x0a\x01\x00\x01", 16)], p.action("drop"))


def run(c, client, p):
    c.area = "12.2 atomicity"
    c.same("an empty batch", client.write(), [])
    mixed = [update(INSERT, route(p, 1)), update(INSERT, bad(p)), update(INSERT, route(p, 2)), update(DELETE, route(p, 9))]
    codes = client.write(*mixed)
    c.same("CONTINUE_ON_ERROR tries all", codes, ["OK", "INVALID_ARGUMENT", "OK", "NOT_FOUND"])
    c.same("and does what can be done", here(client, p), [1, 2])
    for name, mode in [("ROLLBACK_ON_ERROR", ROLLBACK), ("DATAPLANE_ATOMIC", ATOMIC)]:
        codes = client.write(update(INSERT, route(p, 3)), update(MODIFY, route(p, 1, 5)), update(DELETE, route(p, 2)),
                             update(INSERT, bad(p)), update(INSERT, route(p, 4)), atomicity=mode)
        c.same(name + " names the one that failed", len(codes) == 5 and codes[3], "INVALID_ARGUMENT")
        c.same("and no other as done", [code for code in codes if code == "OK"], [])
        c.same("does nothing", here(client, p), [1, 2])
        same = client.read(route(p, 1))
        c.same("to nothing", same, [route(p, 1)])
        codes = client.write(update(INSERT, route(p, 3)), update(DELETE, route(p, 1)), atomicity=mode)
        c.same(name + " does all", (codes, here(client, p)), (["OK", "OK"], [2, 3]))
        client.write(update(INSERT, route(p, 1)), update(DELETE, route(p, 3)))
    c.same("an atomicity that does not exist", client.write(update(INSERT, route(p, 3)), atomicity=7), "INVALID_ARGUMENT")
    client.write(update(DELETE, route(p, 1)), update(DELETE, route(p, 2)))

    c.area = "10 and 12.3 errors"
    error = client.write_status(*mixed[:3])
    status, codes, errors = details(error)
    c.same("the call says UNKNOWN", rpc_code(error), "UNKNOWN")
    c.same("so do the details", status and code_name(status.code), "UNKNOWN")
    c.same("with the same message", status and status.message, error.details())
    c.same("one p4.v1.Error per update", codes, ["OK", "INVALID_ARGUMENT", "OK"])
    c.holds("with words for the one that failed", errors and errors[1].message)
    c.same("and none for the others", errors and [errors[0].message, errors[2].message], ["", ""])
    client.write(update(DELETE, route(p, 1)), update(DELETE, route(p, 2)))
    error = client.write_status(update(INSERT, route(p, 1)), election_id=election(999))
    c.same("a call that fails as a whole has no details", details(error)[0], None)
    many = [update(DELETE, route(p, n % 250)) for n in range(1000)]
    c.same("a thousand codes", client.write(*many), ["NOT_FOUND"] * 1000)
    same = update(INSERT, route(p, 1))
    c.same("twice the same in a batch", sorted(client.write(same, same)), ["ALREADY_EXISTS", "OK"])
    client.one(DELETE, route(p, 1))


def packets(c, client, p, ports, address):
    c.area = "16.1 packets"
    payload = frame(kind=1, payload=b"out")

    def out(metadata):
        made = v1.PacketOut(payload=payload)
        for number, value in metadata:
            made.metadata.add(metadata_id=number, value=value)
        client.say(packet=made)

    ports.flush()
    for name, metadata in [("without metadata", []), ("with too little", [(1, b"\x02")]),
                           ("with too much", [(1, b"\x02"), (2, b"\x00"), (3, b"\x00")]),
                           ("with a field twice", [(1, b"\x02"), (1, b"\x02")]),
                           ("with a field that does not exist", [(1, b"\x02"), (7, b"\x00")])]:
        out(metadata)
        error = client.hear_of("error")
        c.same(name, error and code_name(error.canonical_code), "INVALID_ARGUMENT")
        c.same(name + " the error is of the packet", error and error.WhichOneof("details"), "packet_out")
    out([(1, b"\x02\x00"), (2, b"\x00")])
    error = client.hear_of("error")
    c.one_of("with a value too large", error and code_name(error.canonical_code), ["OUT_OF_RANGE", "INVALID_ARGUMENT"])
    out([(1, b"\x02"), (2, b"\x00")])
    c.same("a right one leaves where it says, the others do not", ports.receive(2), payload)
    out([(2, b"\x00"), (1, b"\x03")])
    c.same("metadata come in any order", ports.receive(3), payload)
    backup = Client(address)
    c.same("a backup", backup.become(0)[0], "ALREADY_EXISTS")
    backup.say(packet=v1.PacketOut(payload=payload))
    error = backup.hear_of("error")
    c.same("sends no packets", error and code_name(error.canonical_code), "PERMISSION_DENIED")
    stranger = Client(address).open()
    stranger.say(packet=v1.PacketOut(payload=payload))
    error = stranger.hear_of("error")
    c.same("nor does who has not arbitrated", error and code_name(error.canonical_code), "PERMISSION_DENIED")
    stranger.close()
    route = p.entry("exact_one", [b"\x71"], p.action("to_cpu"))
    client.one(INSERT, route)
    ports.send(3, frame(to=0x71, payload=b"in"))
    message = client.hear_of("packet")
    told = {m.metadata_id: m.value for m in message.metadata} if message else None
    c.same("a packet comes in with its metadata", told, {1: b"\x03", 2: b"\x00"})
    c.same("and without the header", message and message.payload, frame(to=0x71, payload=b"in"))
    c.same("the backup gets none", backup.hear_of("packet", 0.2), None)
    client.one(DELETE, route)
    backup.close()
    client.say(other={"type_url": "x/y.Z"})
    error = client.hear_of("error")
    c.same("an unknown kind of message", error and error.WhichOneof("details"), "other")
