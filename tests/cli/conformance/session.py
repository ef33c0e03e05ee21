"""Chapter 5: arbitration, roles, role configs; what reads and writes need of them (chapters 12 and 13)."""

from google.protobuf import any_pb2, struct_pb2

from rig import *


def role_config(**fields):
    struct = struct_pb2.Struct()
    for key, value in fields.items():
        struct[key] = value
    packed = any_pb2.Any()
    packed.Pack(struct)
    return packed


def first_messages(c, address):
    c.area = "5.3 rule 1"
    for name, fields, code in [
        ("a device that does not exist", dict(number=1, device=DEVICE + 1), "NOT_FOUND"),
        ("a role config of no agreed type", dict(number=1, role="typed", config=any_pb2.Any(type_url="x/y.Z")),
         "INVALID_ARGUMENT"),
        ("a role config with an unknown key", dict(number=1, role="keyed", config=role_config(nothing=True)),
         "INVALID_ARGUMENT"),
        ("a role config for the default role", dict(number=1, role="", config=role_config(write=[])), "INVALID_ARGUMENT"),
    ]:
        client = Client(address).open()
        client.arbitrate(**fields)
        c.same(name + " ends the stream", client.standing(), code)
        client.close()
    first = Client(address, role="first")
    c.same("the first election id makes a primary", first.become(5), ("OK", 5))
    other = Client(address, role="first").open()
    other.arbitrate(5)
    c.same("a used election id ends the stream", other.standing(), "INVALID_ARGUMENT")
    other.close()
    other = Client(address, role="other")
    c.same("the same id serves in another role", other.become(5), ("OK", 5))
    other.close()
    empty = Client(address).open()
    empty.outbox.put(v1.StreamMessageRequest())
    c.same("an empty message ends the stream", empty.hear(), "INVALID_ARGUMENT")
    empty.close()
    first.close()


def later_messages(c, address):
    c.area = "5.3 rule 2"
    for name, fields in [("another device", dict(number=1, device=DEVICE + 1)), ("another role", dict(number=1, role="b"))]:
        client = Client(address, role="a")
        client.become(1)
        client.arbitrate(**fields)
        c.same(name + " ends the stream", client.standing(), "FAILED_PRECONDITION")
        client.close()
    one, two = Client(address, role="later"), Client(address, role="later")
    one.become(10)
    c.same("a lower id makes a backup", two.become(9), ("ALREADY_EXISTS", 10))
    two.arbitrate(10)
    c.same("an id that another took meanwhile ends the stream", two.standing(), "INVALID_ARGUMENT")
    one.arbitrate(10, config=any_pb2.Any(type_url="x/y.Z"))
    c.same("a bad role config ends the stream of a live client", one.standing(), "INVALID_ARGUMENT")
    one.close()
    two.close()


def who_is_primary(c, address):
    c.area = "5.3 and 5.4"
    high, low, unset = (Client(address, role="who") for _ in range(3))
    unset.open()
    unset.arbitrate(None)
    c.same("without any primary ever there is no election id", unset.hears(("NOT_FOUND", None)), ("NOT_FOUND", None))
    c.same("zero is an election id", low.become(0), ("OK", 0))
    c.same("backups hear of the new primary", unset.hears(("ALREADY_EXISTS", 0)), ("ALREADY_EXISTS", 0))
    c.same("a higher id takes over", high.become(7), ("OK", 7))
    c.same("the old primary hears of it", low.hears(("ALREADY_EXISTS", 7)), ("ALREADY_EXISTS", 7))
    c.same("other backups hear of it", unset.hears(("ALREADY_EXISTS", 7)), ("ALREADY_EXISTS", 7))
    high.arbitrate(7)
    c.same("the same id again keeps the primary", high.hears(("OK", 7)), ("OK", 7))
    low.arbitrate(3)
    c.same("a backup may change to another low id", low.hears(("ALREADY_EXISTS", 7)), ("ALREADY_EXISTS", 7))
    high.arbitrate(2)
    c.same("a primary that steps back is told there is none", high.hears(("NOT_FOUND", 7)), ("NOT_FOUND", 7))
    c.same("so are the backups", low.hears(("NOT_FOUND", 7)), ("NOT_FOUND", 7))
    low.arbitrate(6)
    c.same("an id below the highest ever makes no primary", low.hears(("NOT_FOUND", 7)), ("NOT_FOUND", 7))
    c.same("a client without primary may not write", low.set(SET.VERIFY, None), "PERMISSION_DENIED")
    low.number = 7
    low.arbitrate(7)
    c.same("the highest id ever does again", low.hears(("OK", 7)), ("OK", 7))
    low.arbitrate(8)
    c.same("a primary may raise its id", low.hears(("OK", 8)), ("OK", 8))
    low.close()
    c.same("when the primary goes there is none", high.hears(("NOT_FOUND", 8)), ("NOT_FOUND", 8))
    again = Client(address, role="who")
    c.same("the highest id outlives its client", again.become(7), ("NOT_FOUND", 8))
    again.close()
    huge = Client(address, role="who")
    c.same("election ids have 128 bits", huge.become(1 << 127), ("OK", 1 << 127))
    huge.close()
    two = Client(address, role="who").open()
    two.arbitrate(None)
    c.same("several clients without id may be there", two.hears(("NOT_FOUND", 1 << 127)), ("NOT_FOUND", 1 << 127))
    for client in (high, unset, two):
        client.close()


def role_in_answers(c, address):
    c.area = "5.4"
    config = role_config(write=["routes"])
    primary, backup = Client(address, role="told"), Client(address, role="told")
    backup.open()
    backup.arbitrate(None)
    backup.standing()
    primary.open()
    primary.number = 1
    primary.arbitrate(1, config=config)
    message = primary.hear_of("arbitration")
    c.same("the device comes back", message.device_id, DEVICE)
    c.same("the role's name comes back", message.role.name, "told")
    c.same("the role's config comes back", message.role.config, config)
    message = backup.hear_of("arbitration")
    c.same("backups hear the primary's role config", message.role.config, config)
    primary.arbitrate(1)
    primary.standing()
    message = backup.hear_of("arbitration")
    c.same("a primary may take its role config back", message.role.HasField("config"), False)
    primary.close()
    backup.close()


def rights(c, address, program):
    """Needs a pipeline."""
    c.area = "5.2 roles"
    routes = program.entry("routes", [(b"\x0b", 8)], program.action("drop"))
    routes.match[0].lpm.value = b"\x0b\x00\x00\x00"
    acl = program.entry("acl", [(b"\x01", b"\x01"), None, None], program.action("NoAction"), priority=1)
    limited = Client(address, role="limited")
    limited.open()
    limited.number = 1
    limited.arbitrate(1, config=role_config(write=["I.routes"], read=["I.routes"], packet_in=False, packet_out=False,
                                            pipeline=False))
    limited.standing()
    c.same("a role writes what it may", limited.one(INSERT, routes), "OK")
    c.same("and nothing else", limited.one(INSERT, acl), "PERMISSION_DENIED")
    group = v1.MulticastGroupEntry(multicast_group_id=77)
    c.same("nor the replication engine", limited.one(INSERT, group), "PERMISSION_DENIED")
    codes = limited.write(update(MODIFY, routes), update(INSERT, acl))
    c.same("refusals are per update", codes, ["OK", "PERMISSION_DENIED"])
    c.same("a role without that right sets no pipeline", limited.set(SET.VERIFY, program.config_message()),
           "PERMISSION_DENIED")
    limited.say(packet=v1.PacketOut(payload=b"x"))
    error = limited.hear_of("error")
    c.same("nor sends packets", error and code_name(error.canonical_code), "PERMISSION_DENIED")
    c.same("it reads what it may", len(limited.read(v1.TableEntry(table_id=program.table("routes")))), 1)
    tables = {e.table_id for e in limited.read(v1.TableEntry())}
    c.same("a read in a role shows only the role's", tables, {program.table("routes")})
    whole = Client(address)
    tables = {e.table_id for e in whole.read(v1.TableEntry())}
    c.holds("a read without role shows all", tables > {program.table("routes")})
    whole.close()
    c.same("a role deletes what it may", limited.one(DELETE, routes), "OK")
    full = Client(address, role="full")
    full.become(1)
    c.same("a role without config may do all", full.one(INSERT, acl), "OK")
    c.same("and undo it", full.one(DELETE, acl), "OK")
    limited.close()
    full.close()


def checks_of_calls(c, address, program):
    """In the order of 12: NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION; before and after there is a pipeline."""
    entry = program.entry("routes", [None], program.action("drop"))
    client = Client(address)
    insert = update(INSERT, entry)
    c.same("a Write to another device", client.write(insert, device_id=DEVICE + 1, election_id=election(1)), "NOT_FOUND")
    c.same("a Write in a role nobody has", client.write(insert, role="nobody", election_id=election(1)), "NOT_FOUND")
    c.same("a Write without election id", client.write(insert), "PERMISSION_DENIED")
    c.same("a Write with a stranger's election id", client.write(insert, election_id=election(999)), "PERMISSION_DENIED")
    c.same("a Set for another device", client.set(SET.VERIFY, device_id=DEVICE + 1), "NOT_FOUND")
    c.same("a Set in a role nobody has", client.set(SET.VERIFY, role="nobody"), "NOT_FOUND")
    c.same("a Set without election id", client.set(SET.VERIFY), "PERMISSION_DENIED")
    c.same("a Read of another device", client.read(v1.TableEntry(), device_id=DEVICE + 1), "NOT_FOUND")
    c.same("a Read in a role nobody has", client.read(v1.TableEntry(), role="nobody"), "NOT_FOUND")
    c.same("a Get of another device", client.get(device=DEVICE + 1), "NOT_FOUND")
    client.close()


def without_pipeline(c, address, program):
    c.area = "before a pipeline"
    checks_of_calls(c, address, program)
    client = Client(address)
    c.same("the primary arbitrates", client.become(1), ("OK", 1))
    entry = program.entry("routes", [None], program.action("drop"))
    c.same("a Write", client.write(update(INSERT, entry)), "FAILED_PRECONDITION")
    c.same("a Read", client.read(v1.TableEntry()), "FAILED_PRECONDITION")
    answer = client.get()
    c.same("Get leaves the config unset", answer.HasField("config"), False)
    client.close()


def run(c, address, program):
    first_messages(c, address)
    later_messages(c, address)
    who_is_primary(c, address)
    role_in_answers(c, address)
    without_pipeline(c, address, program)


def run_with_pipeline(c, address, program):
    c.area = "12 and 13 with a pipeline"
    checks_of_calls(c, address, program)
    rights(c, address, program)
