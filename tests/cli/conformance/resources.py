"""Sections 9.2 to 9.8: action profiles, counters, meters, the replication engine, value sets, registers, digests."""

from entries import BAD_METERS, METER
from rig import *


def member(p, profile, number, action):
    return v1.ActionProfileMember(action_profile_id=p.profile(profile), member_id=number, action=action)


def group(p, profile, number, members, max_size=0):
    made = v1.ActionProfileGroup(action_profile_id=p.profile(profile), group_id=number, max_size=max_size)
    for one in members:
        which, weight, port = (one + (b"",))[:3] if isinstance(one, tuple) else (one, 1, b"")
        new = made.members.add(member_id=which, weight=weight)
        if port:
            new.watch_port = port
    return made


def members(c, client, p):
    c.area = "9.2.1 members"
    one = member(p, "shared", 1, p.action("send", b"\x01"))
    c.same("INSERT", client.one(INSERT, one), "OK")
    c.same("INSERT again", client.one(INSERT, one), "ALREADY_EXISTS")
    c.same("is read as written", client.read(v1.ActionProfileMember(action_profile_id=p.profile("shared"), member_id=1)), [one])
    two = member(p, "shared", 1, p.action("send", b"\x02"))
    c.same("MODIFY", client.one(MODIFY, two), "OK")
    c.same("changes it", client.read(v1.ActionProfileMember(action_profile_id=p.profile("shared"))), [two])
    for name, wrong, verb, code in [
        ("MODIFY of what is not there", member(p, "shared", 9, p.action("drop")), MODIFY, "NOT_FOUND"),
        ("DELETE of what is not there", member(p, "shared", 9, None), DELETE, "NOT_FOUND"),
        ("INSERT without action", member(p, "shared", 9, None), INSERT, "INVALID_ARGUMENT"),
        ("MODIFY without action", member(p, "shared", 1, None), MODIFY, "INVALID_ARGUMENT"),
        ("INSERT of number 0", member(p, "shared", 0, p.action("drop")), INSERT, "INVALID_ARGUMENT"),
        ("INSERT of a foreign action", member(p, "shared", 9, p.action("counted")), INSERT, "INVALID_ARGUMENT"),
    ]:
        c.same(name, client.one(verb, wrong), code)
    rest = [member(p, "shared", n, p.action("drop")) for n in (2, 3, 4)]
    c.same("a profile takes as many as it says", client.write(*[update(INSERT, m) for m in rest]), ["OK"] * 3)
    c.same("and no more", client.one(INSERT, member(p, "shared", 5, p.action("drop"))), "RESOURCE_EXHAUSTED")
    entry = p.entry("indirect", [b"\x01"], v1.TableAction(action_profile_member_id=1))
    c.same("an entry names a member", client.one(INSERT, entry), "OK")
    c.same("is read as written", client.read(v1.TableEntry(table_id=p.table("indirect"))), [entry])
    c.same("a member in use stays", client.one(DELETE, two), "FAILED_PRECONDITION")
    missing = p.entry("indirect", [b"\x02"], v1.TableAction(action_profile_member_id=9))
    c.same("an entry that names no member", client.one(INSERT, missing), "NOT_FOUND")
    grouped = p.entry("indirect", [b"\x02"], v1.TableAction(action_profile_group_id=1))
    c.same("a group where there is no selector", client.one(INSERT, grouped), "INVALID_ARGUMENT")
    c.same("a direct action there", client.one(INSERT, p.entry("indirect", [b"\x02"], p.action("drop"))), "INVALID_ARGUMENT")
    c.same("the entry goes", client.one(DELETE, entry), "OK")
    codes = client.write(*[update(DELETE, m) for m in [two] + rest])
    c.same("then members go", codes, ["OK"] * 4)


def groups(c, client, p):
    c.area = "9.2.2 groups"
    made = [member(p, "spread", n, p.action("send", bytes([n]))) for n in (1, 2, 3)]
    client.write(*[update(INSERT, m) for m in made])
    both = group(p, "spread", 1, [(1, 2), (2, 1, b"\x02")])
    c.same("INSERT", client.one(INSERT, both), "OK")
    c.same("INSERT again", client.one(INSERT, both), "ALREADY_EXISTS")
    c.same("is read as written", client.read(v1.ActionProfileGroup(action_profile_id=p.profile("spread"), group_id=1)), [both])
    c.same("with all groups of all profiles", client.read(v1.ActionProfileGroup()), [both])
    for name, wrong, verb, code in [
        ("MODIFY of what is not there", group(p, "spread", 9, [1]), MODIFY, "NOT_FOUND"),
        ("DELETE of what is not there", group(p, "spread", 9, []), DELETE, "NOT_FOUND"),
        ("a member that is not there", group(p, "spread", 9, [7]), INSERT, "NOT_FOUND"),
        ("a member twice", group(p, "spread", 9, [1, 1]), INSERT, "INVALID_ARGUMENT"),
        ("a weight of 0", group(p, "spread", 9, [(1, 0)]), INSERT, "INVALID_ARGUMENT"),
        ("a negative weight", group(p, "spread", 9, [(1, -1)]), INSERT, "INVALID_ARGUMENT"),
        ("a watched port that is none", group(p, "spread", 9, [(1, 1, b"\x01\x99")]), INSERT, "INVALID_ARGUMENT"),
        ("number 0", group(p, "spread", 0, [1]), INSERT, "INVALID_ARGUMENT"),
        ("a negative max_size", group(p, "spread", 9, [1], max_size=-1), INSERT, "INVALID_ARGUMENT"),
        ("another max_size", group(p, "spread", 1, [1], max_size=5), MODIFY, "INVALID_ARGUMENT"),
        ("a group of a profile without selector", group(p, "shared", 1, []), INSERT, "INVALID_ARGUMENT"),
    ]:
        c.same(name, client.one(verb, wrong), code)
    c.same("MODIFY", client.one(MODIFY, group(p, "spread", 1, [3])), "OK")
    c.same("a member of no group goes", client.one(DELETE, made[0]), "OK")
    c.same("one of a group stays", client.one(DELETE, made[2]), "FAILED_PRECONDITION")
    c.same("an empty group", client.one(MODIFY, group(p, "spread", 1, [])), "OK")
    c.same("member and group numbers are apart", client.one(INSERT, group(p, "spread", 2, [2])), "OK")
    entry = p.entry("ecmp", [b"\x01"], v1.TableAction(action_profile_group_id=2))
    c.same("an entry names a group", client.one(INSERT, entry), "OK")
    c.same("a group in use stays", client.one(DELETE, group(p, "spread", 2, [])), "FAILED_PRECONDITION")
    missing = p.entry("ecmp", [b"\x02"], v1.TableAction(action_profile_group_id=9))
    c.same("an entry that names no group", client.one(INSERT, missing), "NOT_FOUND")
    single = p.entry("ecmp", [b"\x02"], v1.TableAction(action_profile_member_id=2))
    c.same("an entry of a selector's table names a member", client.one(INSERT, single), "OK")
    shot = one_shot(p, "ecmp", 3, [(1, 1)])
    c.same("one-shot sets do not mix with members", client.one(INSERT, shot), "INVALID_ARGUMENT")
    client.write(update(DELETE, entry), update(DELETE, single))
    client.write(update(DELETE, group(p, "spread", 1, [])), update(DELETE, group(p, "spread", 2, [])))
    c.same("everything goes", client.write(update(DELETE, made[1]), update(DELETE, made[2])), ["OK", "OK"])

    c.area = "9.2.2 groups counted by members"
    made = [member(p, "balance", n, p.action("send", bytes([n]))) for n in range(1, 6)]
    client.write(*[update(INSERT, m) for m in made])
    for name, wrong, code in [
        ("weights do not count", group(p, "balance", 1, [(n, 10) for n in (1, 2, 3, 4)], max_size=4), "OK"),
        ("members do", group(p, "balance", 2, [1, 2, 3, 4, 5], max_size=4), "INVALID_ARGUMENT"),
        ("a weight above the largest", group(p, "balance", 2, [(1, 11)], max_size=4), "INVALID_ARGUMENT"),
        ("max_size above the profile's", group(p, "balance", 2, [1], max_size=5), "INVALID_ARGUMENT"),
    ]:
        c.same(name, client.one(INSERT, wrong), code)
    client.one(DELETE, group(p, "balance", 1, []))
    client.write(*[update(DELETE, m) for m in made])


def one_shot(p, table, key, actions, **fields):
    """An entry with a one-shot set; an action is (port, weight) or (port, weight, watched port)."""
    action_set = v1.ActionProfileActionSet(**fields)
    for one in actions:
        port, weight, watch = (one + (b"",))[:3]
        new = action_set.action_profile_actions.add(action=p.action("send", bytes([port])), weight=weight)
        if watch:
            new.watch_port = watch
    return p.entry(table, [bytes([key])], v1.TableAction(action_profile_action_set=action_set))


def one_shots(c, client, p):
    c.area = "9.2.3 one-shot sets"
    mode, size = v1.ActionProfileActionSet.HASH, v1.ActionProfileActionSet
    entry = one_shot(p, "ecmp", 1, [(1, 1), (2, 2, b"\x02"), (1, 1)])
    c.same("INSERT", client.one(INSERT, entry), "OK")
    c.same("is read as written, the same action twice too", client.read(v1.TableEntry(table_id=p.table("ecmp"))), [entry])
    c.same("no members show", client.read(v1.ActionProfileMember()), [])
    c.same("members do not mix with one-shot sets", client.one(INSERT, member(p, "spread", 1, p.action("drop"))), "INVALID_ARGUMENT")
    changed = one_shot(p, "ecmp", 1, [(3, 1)])
    c.same("MODIFY", client.one(MODIFY, changed), "OK")
    c.same("changes it", client.read(v1.TableEntry(table_id=p.table("ecmp"))), [changed])
    for name, wrong, code in [
        ("a weight of 0", one_shot(p, "ecmp", 2, [(1, 0)]), "INVALID_ARGUMENT"),
        ("a negative weight", one_shot(p, "ecmp", 2, [(1, -5)]), "INVALID_ARGUMENT"),
        ("a watched port that is none", one_shot(p, "ecmp", 2, [(1, 1, b"\x01\x99")]), "INVALID_ARGUMENT"),
        ("the selector's own modes spelt out", one_shot(p, "ecmp", 2, [(1, 1)], action_selection_mode=mode,
                                                        size_semantics=size.SUM_OF_WEIGHTS), "OK"),
        ("weights beyond the selector's size", one_shot(p, "ecmp", 3, [(1, 17)]), "RESOURCE_EXHAUSTED"),
        ("the largest weights", one_shot(p, "ecmp", 3, [(1, 2147483647)] * 3), ("RESOURCE_EXHAUSTED", "INVALID_ARGUMENT")),
        ("sets that leave no room", one_shot(p, "ecmp", 3, [(1, 14)]), "OK"),
        ("one more", one_shot(p, "ecmp", 4, [(1, 1)]), "RESOURCE_EXHAUSTED"),
        ("random choice", one_shot(p, "ecmp", 3, [(1, 1)], action_selection_mode=size.RANDOM), ("UNIMPLEMENTED", "INVALID_ARGUMENT")),
        ("members in a set counted by members", one_shot(p, "balanced", 1, [(1, 10)] * 4), "OK"),
        ("too many of them", one_shot(p, "balanced", 2, [(1, 1)] * 5), "INVALID_ARGUMENT"),
        ("a weight above the largest", one_shot(p, "balanced", 2, [(1, 11)]), "INVALID_ARGUMENT"),
        ("as many sets as the selector has room for", one_shot(p, "balanced", 2, [(1, 1)] * 4), "OK"),
        ("one more", one_shot(p, "balanced", 3, [(1, 1)]), "RESOURCE_EXHAUSTED"),
    ]:
        if isinstance(code, tuple):
            c.one_of(name, client.one(INSERT, wrong), code)
        else:
            c.same(name, client.one(INSERT, wrong), code)
    shrunk = one_shot(p, "ecmp", 3, [(1, 13)])
    c.same("a set may shrink", client.one(MODIFY, shrunk), "OK")
    c.same("which makes room", client.one(INSERT, one_shot(p, "ecmp", 4, [(1, 1)])), "OK")
    missing = one_shot(p, "ecmp", 5, [])
    missing.action.action_profile_action_set.action_profile_actions.add(weight=1)
    c.same("an action that is left out", client.one(INSERT, missing), "INVALID_ARGUMENT")
    for table in ("ecmp", "balanced"):
        for one in client.read(v1.TableEntry(table_id=p.table(table))):
            client.one(DELETE, one)
    c.same("when they are gone members are back", client.one(INSERT, member(p, "spread", 1, p.action("drop"))), "OK")
    client.one(DELETE, member(p, "spread", 1, None))


def counters(c, client, p, ports):
    c.area = "9.3.2 CounterEntry"
    number = p.id("counters", "seen")

    def cell(index, packets=None, octets=0):
        made = v1.CounterEntry(counter_id=number)
        if index is not None:
            made.index.index = index
        if packets is not None:
            made.data.packet_count, made.data.byte_count = packets, octets
        return made

    c.same("all cells are read without index", len(client.read(cell(None))), 16)
    c.same("all arrays without id", len(client.read(v1.CounterEntry())), 16)
    c.same("MODIFY", client.one(MODIFY, cell(3, 5, 50)), "OK")
    c.same("is read as written", client.read(cell(3)), [cell(3, 5, 50)])
    c.same("index 0 is not all", client.read(cell(0)), [cell(0, 0, 0)])
    ports.send(1, frame(kind=3))
    c.same("packets count", until(lambda: client.read(cell(3)) == [cell(3, 6, 57)]), True)
    c.same("without data nothing changes", client.one(MODIFY, cell(3)), "OK")
    c.same("nothing", client.read(cell(3)), [cell(3, 6, 57)])
    c.same("without index all are set", client.one(MODIFY, cell(None, 1, 2)), "OK")
    c.same("all", {(e.data.packet_count, e.data.byte_count) for e in client.read(cell(None))}, {(1, 2)})
    for name, verb, wrong, code in [
        ("INSERT", INSERT, cell(3, 1), "INVALID_ARGUMENT"), ("DELETE", DELETE, cell(3, 1), "INVALID_ARGUMENT"),
        ("a negative index", MODIFY, cell(-1, 1), "INVALID_ARGUMENT"), ("an index too large", MODIFY, cell(16, 1), "OUT_OF_RANGE"),
    ]:
        c.same(name, client.one(verb, wrong), code)
    c.same("a negative index is not read", client.read(cell(-1)), "INVALID_ARGUMENT")
    c.same("nor one too large", client.read(cell(16)), "OUT_OF_RANGE")
    c.one_of("nor a counter that is not there", client.read(v1.CounterEntry(counter_id=77)), ["NOT_FOUND", "INVALID_ARGUMENT"])
    c.one_of("nor written", client.one(MODIFY, v1.CounterEntry(counter_id=77)), ["NOT_FOUND", "INVALID_ARGUMENT"])
    client.one(MODIFY, cell(None, 0, 0))


def meters(c, client, p):
    c.area = "9.4.2 MeterEntry"
    number = p.id("meters", "flow")
    config = v1.MeterConfig(**METER)

    def cell(index, config=None, **fields):
        made = v1.MeterEntry(meter_id=number, config=config, **fields)
        if index is not None:
            made.index.index = index
        return made

    c.same("all cells are read without index", len(client.read(cell(None))), 8)
    c.same("all arrays without id", len(client.read(v1.MeterEntry())), 8)
    c.same("the default config is unset", client.read(cell(2)), [cell(2)])
    c.same("MODIFY", client.one(MODIFY, cell(2, config)), "OK")
    c.same("is read as written", client.read(cell(2)), [cell(2, config)])
    equal = v1.MeterConfig(cir=3, cburst=4, pir=3, pburst=4)
    c.same("cir may equal pir", client.one(MODIFY, cell(3, equal)), "OK")
    for name, changed in BAD_METERS:
        bad = v1.MeterConfig(**dict(METER, **changed))
        c.same(name, client.one(MODIFY, cell(2, bad)), "INVALID_ARGUMENT")
    c.same("what was refused changed nothing", client.read(cell(2)), [cell(2, config)])
    c.same("without config it is reset", client.one(MODIFY, cell(2)), "OK")
    c.same("to the default", client.read(cell(2)), [cell(2)])
    c.same("without index all are set", client.one(MODIFY, cell(None, config)), "OK")
    c.same("all", [e.config for e in client.read(cell(None))], [config] * 8)
    for name, verb, wrong, code in [
        ("INSERT", INSERT, cell(3, config), "INVALID_ARGUMENT"), ("DELETE", DELETE, cell(3), "INVALID_ARGUMENT"),
        ("a negative index", MODIFY, cell(-1, config), "INVALID_ARGUMENT"), ("an index too large", MODIFY, cell(8, config), "OUT_OF_RANGE"),
    ]:
        c.same(name, client.one(verb, wrong), code)
    marked = v1.MeterCounterData(red=v1.CounterData(packet_count=1))
    c.same("counts of colours are not set to a number", client.one(MODIFY, cell(3, config, counter_data=marked)), "INVALID_ARGUMENT")
    c.same("but to zero", client.one(MODIFY, cell(3, config, counter_data=v1.MeterCounterData())), "OK")
    found = client.read(cell(3, counter_data=v1.MeterCounterData()))
    c.same("and read if asked for", [e.HasField("counter_data") for e in found], [True])
    client.one(MODIFY, cell(None))


def multicast(c, client, p, ports):
    c.area = "9.5.1 MulticastGroupEntry"

    def entry(number, *replicas, **fields):
        made = v1.MulticastGroupEntry(multicast_group_id=number, **fields)
        for port, instance, *backups in replicas:
            new = made.replicas.add(port=port, instance=instance)
            for backup, its in backups:
                new.backup_replicas.add(port=backup, instance=its)
        return made

    one = entry(1, (b"\x01", 1), (b"\x02", 2), metadata=b"note")
    c.same("INSERT", client.one(INSERT, one), "OK")
    c.same("INSERT again", client.one(INSERT, one), "ALREADY_EXISTS")
    c.same("is read as written", client.read(v1.MulticastGroupEntry(multicast_group_id=1)), [one])
    backed = entry(2, (b"\x01", 1, (b"\x02", 1), (b"\x03", 2)), (b"\x04", 0))
    c.same("backups", client.one(INSERT, backed), "OK")
    c.same("are read in their order", client.read(v1.MulticastGroupEntry(multicast_group_id=2)), [backed])
    c.same("0 reads all", client.read(v1.MulticastGroupEntry()), [one, backed])
    for name, verb, wrong, code in [
        ("number 0", INSERT, entry(0, (b"\x01", 1)), "INVALID_ARGUMENT"),
        ("an instance too large", INSERT, entry(9, (b"\x01", 65536)), "INVALID_ARGUMENT"),
        ("a replica twice", INSERT, entry(9, (b"\x01", 1), (b"\x01", 1)), "INVALID_ARGUMENT"),
        ("a port with two instances", INSERT, entry(9, (b"\x01", 1), (b"\x01", 2)), "OK"),
        ("a backup on its replica's port", INSERT, entry(10, (b"\x01", 1, (b"\x01", 2))), "INVALID_ARGUMENT"),
        ("a backup that is another replica", INSERT, entry(10, (b"\x01", 1, (b"\x02", 1)), (b"\x02", 1)), "INVALID_ARGUMENT"),
        ("a backup twice in the group", INSERT, entry(10, (b"\x01", 1, (b"\x03", 1)), (b"\x02", 1, (b"\x03", 1))), "INVALID_ARGUMENT"),
        ("MODIFY of what is not there", MODIFY, entry(11), "NOT_FOUND"),
        ("DELETE of what is not there", DELETE, entry(11), "NOT_FOUND"),
    ]:
        c.same(name, client.one(verb, wrong), code)
    large = [(b"\x01", n) for n in range(60000)]
    c.same("more replicas than come out", client.one(INSERT, entry(12, *large)), "RESOURCE_EXHAUSTED")
    route = p.entry("exact_one", [b"\x51"], p.action("group", b"\x01"))
    client.one(INSERT, route)
    ports.flush()
    ports.send(3, frame(to=0x51))
    c.same("both replicas come out", [ports.receive(1), ports.receive(2)], [frame(to=0x51)] * 2)
    c.same("MODIFY", client.one(MODIFY, entry(1, (b"\x03", 7))), "OK")
    c.same("changes it, metadata too", client.read(v1.MulticastGroupEntry(multicast_group_id=1)), [entry(1, (b"\x03", 7))])
    ports.send(2, frame(to=0x51))
    c.same("the new replica comes out", ports.receive(3), frame(to=0x51))
    many = [(b"\x02", n) for n in range(1000)]
    c.same("a thousand replicas", client.one(MODIFY, entry(1, *many)), "OK")
    ports.sockets[2].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    client.write(*[update(DELETE, entry(n)) for n in (1, 2, 9)])
    c.same("all gone", client.read(v1.MulticastGroupEntry()), [])
    client.one(DELETE, route)

    c.area = "9.5.2 CloneSessionEntry"

    def session(number, *replicas, **fields):
        return v1.CloneSessionEntry(session_id=number, replicas=entry(1, *replicas).replicas, **fields)

    one = session(5, (b"\x02", 1), class_of_service=2, packet_length_bytes=5)
    c.same("INSERT", client.one(INSERT, one), "OK")
    c.same("INSERT again", client.one(INSERT, one), "ALREADY_EXISTS")
    c.same("is read as written", client.read(v1.CloneSessionEntry(session_id=5)), [one])
    c.same("0 reads all", client.read(v1.CloneSessionEntry()), [one])
    for name, verb, wrong, code in [
        ("number 0", INSERT, session(0, (b"\x01", 1)), "INVALID_ARGUMENT"),
        ("an instance too large", INSERT, session(9, (b"\x01", 65536)), "INVALID_ARGUMENT"),
        ("a negative length", INSERT, session(9, (b"\x01", 1), packet_length_bytes=-1), "INVALID_ARGUMENT"),
        ("MODIFY of what is not there", MODIFY, session(9), "NOT_FOUND"),
        ("DELETE of what is not there", DELETE, session(9), "NOT_FOUND"),
    ]:
        c.same(name, client.one(verb, wrong), code)
    route = p.entry("exact_one", [b"\x52"], p.action("copy", b"\x05"))
    client.one(INSERT, route)
    ports.flush()
    ports.send(3, frame(to=0x52, payload=b"long"))
    c.same("the clone comes out, cut", ports.receive(2), frame(to=0x52)[:5])
    client.one(DELETE, route)
    c.same("DELETE", client.one(DELETE, session(5)), "OK")
    c.same("all gone", client.read(v1.CloneSessionEntry()), [])
    c.same("a replication entry of no type", client.one(INSERT, v1.PacketReplicationEngineEntry()), "INVALID_ARGUMENT")


def value_sets(c, client, p, ports):
    c.area = "9.6 ValueSetEntry"
    number = p.id("value_sets", "special")

    def entry(*values):
        made = v1.ValueSetEntry(value_set_id=number)
        for value in values:
            made.members.add().match.add(field_id=1).exact.value = value
        return made

    c.same("is empty at first", client.read(v1.ValueSetEntry(value_set_id=number)), [entry()])
    c.same("MODIFY", client.one(MODIFY, entry(b"\x07", b"\x08")), "OK")
    c.same("is read as written", client.read(v1.ValueSetEntry(value_set_id=number)), [entry(b"\x07", b"\x08")])
    c.same("0 reads all", client.read(v1.ValueSetEntry()), [entry(b"\x07", b"\x08")])
    ports.flush()
    ports.send(1, frame(kind=8))
    c.same("the parser knows it", ports.receive(4), frame(kind=8))
    for name, verb, wrong, code in [
        ("INSERT", INSERT, entry(b"\x01"), "INVALID_ARGUMENT"), ("DELETE", DELETE, entry(), "INVALID_ARGUMENT"),
        ("more members than it takes", MODIFY, entry(*(bytes([n]) for n in range(1, 6))), "RESOURCE_EXHAUSTED"),
        ("a member twice", MODIFY, entry(b"\x01", b"\x01"), "ALREADY_EXISTS"),
        ("a value too large", MODIFY, entry(b"\x01\x00"), "OUT_OF_RANGE"),
        ("an empty value", MODIFY, entry(b""), "OUT_OF_RANGE"),
    ]:
        c.same(name, client.one(verb, wrong), code)
    c.same("what was refused changed nothing", client.read(v1.ValueSetEntry(value_set_id=number)), [entry(b"\x07", b"\x08")])
    c.same("MODIFY without members", client.one(MODIFY, entry()), "OK")
    c.same("empties it", client.read(v1.ValueSetEntry(value_set_id=number)), [entry()])
    c.one_of("a value set that is not there", client.read(v1.ValueSetEntry(value_set_id=77)), ["NOT_FOUND", "INVALID_ARGUMENT"])


def registers(c, client, p, ports):
    c.area = "9.7 RegisterEntry"
    number = p.id("registers", "sums")

    def cell(index, value=None):
        made = v1.RegisterEntry(register_id=number)
        if index is not None:
            made.index.index = index
        if value is not None:
            made.data.bitstring = value
        return made

    c.same("all cells are read without index", len(client.read(cell(None))), 32)
    c.same("MODIFY", client.one(MODIFY, cell(5, b"\x01\x02")), "OK")
    c.same("is read as written", client.read(cell(5)), [cell(5, b"\x01\x02")])
    ports.send(1, frame(kind=5, extra=3))
    c.same("packets change it", until(lambda: client.read(cell(5)) == [cell(5, b"\x01\x05")]), True)
    c.same("without index all are set", client.one(MODIFY, cell(None, b"\x07")), "OK")
    c.same("all", {e.data.bitstring for e in client.read(cell(None))}, {b"\x07"})
    wrong = cell(5)
    wrong.data.bool = True
    for name, verb, message, codes in [
        ("INSERT", INSERT, cell(5, b"\x01"), ["INVALID_ARGUMENT"]), ("DELETE", DELETE, cell(5, b"\x01"), ["INVALID_ARGUMENT"]),
        ("a negative index", MODIFY, cell(-1, b"\x01"), ["INVALID_ARGUMENT"]),
        ("an index too large", MODIFY, cell(32, b"\x01"), ["OUT_OF_RANGE"]),
        ("data of another type", MODIFY, wrong, ["INVALID_ARGUMENT"]), ("no data", MODIFY, cell(5), ["INVALID_ARGUMENT"]),
        ("data too large", MODIFY, cell(5, b"\x01\x00\x00"), ["OUT_OF_RANGE", "INVALID_ARGUMENT"]),
    ]:
        c.one_of(name, client.one(verb, message), codes)
    client.one(MODIFY, cell(None, b"\x00"))


def digests(c, client, p, ports):
    c.area = "9.8 DigestEntry"
    number = p.digest
    second = 1000 * 1000 * 1000

    def entry(**config):
        return v1.DigestEntry(digest_id=number, config=v1.DigestEntry.Config(**config) if config else None)

    def learn(to, port=1):
        ports.send(port, frame(to=0x6100 + to))

    def heard(wait=WAIT):
        message = client.hear_of("digest", wait)
        if message is None or isinstance(message, str):
            return message, None
        return [tuple(m.bitstring for m in d.struct.members) for d in message.data], message

    routes = [p.entry("exact_one", [(0x6100 + n).to_bytes(2, "big")], p.action("learn")) for n in range(1, 5)]
    client.write(*[update(INSERT, r) for r in routes])
    c.same("a digest is disabled at first", client.read(v1.DigestEntry()), [])
    c.same("MODIFY of a disabled one", client.one(MODIFY, entry(max_list_size=1)), "NOT_FOUND")
    c.same("DELETE of a disabled one", client.one(DELETE, entry()), "NOT_FOUND")
    config = entry(max_timeout_ns=3600 * second, max_list_size=2, ack_timeout_ns=3600 * second)
    c.same("INSERT enables it", client.one(INSERT, config), "OK")
    c.same("INSERT again", client.one(INSERT, config), "ALREADY_EXISTS")
    c.same("is read as written", client.read(v1.DigestEntry(digest_id=number)), [config])
    for to in (1, 1, 2):
        learn(to)
    data, message = heard()
    c.same("a list holds distinct messages", data, [(b"\x61\x01", b"\x01"), (b"\x61\x02", b"\x01")])
    c.same("of the digest", message and message.digest_id, number)
    c.holds("with a time", message and message.timestamp > 0)
    for to in (1, 2, 3, 4):
        learn(to)
    data, later = heard()
    c.same("what is not acknowledged is not told again", data, [(b"\x61\x03", b"\x01"), (b"\x61\x04", b"\x01")])
    c.holds("lists have numbers of their own", message and later and message.list_id != later.list_id)
    client.say(digest_ack=v1.DigestListAck(digest_id=number, list_id=message.list_id if message else 0))
    learned = until(lambda: [learn(1), learn(2), heard(0.2)][2][0])
    c.same("what is acknowledged is", sorted(learned or []), [(b"\x61\x01", b"\x01"), (b"\x61\x02", b"\x01")])
    c.same("MODIFY", client.one(MODIFY, entry(max_timeout_ns=0, max_list_size=0, ack_timeout_ns=0)), "OK")
    learn(1, port=2)
    c.same("without timeouts every message comes at once", heard()[0], [(b"\x61\x01", b"\x02")])
    learn(1, port=2)
    c.same("and again", heard()[0], [(b"\x61\x01", b"\x02")])
    c.same("a negative timeout", client.one(MODIFY, entry(max_timeout_ns=-1)), "INVALID_ARGUMENT")
    client.say(digest_ack=v1.DigestListAck(digest_id=77, list_id=1))
    error = client.hear_of("error")
    c.same("an acknowledgement of no digest", error and code_name(error.canonical_code), "INVALID_ARGUMENT")
    c.same("says so", error and error.WhichOneof("details"), "digest_list_ack")
    c.same("DELETE disables it", client.one(DELETE, entry()), "OK")
    learn(2)
    c.same("then nothing comes", heard(0.3)[0], None)
    c.one_of("a digest that is not there", client.one(INSERT, v1.DigestEntry(digest_id=77)), ["NOT_FOUND", "INVALID_ARGUMENT"])
    client.write(*[update(DELETE, r) for r in routes])


def run(c, client, program, ports):
    members(c, client, program)
    groups(c, client, program)
    one_shots(c, client, program)
    counters(c, client, program, ports)
    meters(c, client, program)
    multicast(c, client, program, ports)
    value_sets(c, client, program, ports)
    registers(c, client, program, ports)
    digests(c, client, program, ports)


def weights_of_the_switch(c, client, p):
    """6.4.3: a selector whose weights the switch decides."""
    c.area = "6.4.3 weights_disallowed"
    info = type(p.info)()
    info.CopyFrom(p.info)
    for profile in info.action_profiles:
        profile.weights_disallowed = profile.preamble.alias == "spread"
    c.same("the config is taken", client.set(SET.VERIFY_AND_COMMIT, p.config_message(info=info)), "OK")
    c.same("a weight in a one-shot set", client.one(INSERT, one_shot(p, "ecmp", 1, [(1, 1)])), "INVALID_ARGUMENT")
    entry = one_shot(p, "ecmp", 1, [(1, 0), (2, 0)])
    c.same("none", client.one(INSERT, entry), "OK")
    c.same("is read as written", client.read(v1.TableEntry(table_id=p.table("ecmp"))), [entry])
    client.one(DELETE, entry)
    client.one(INSERT, member(p, "spread", 1, p.action("drop")))
    c.same("a weight in a group", client.one(INSERT, group(p, "spread", 1, [(1, 1)])), "INVALID_ARGUMENT")
    made = group(p, "spread", 1, [(1, 0)])
    c.same("none there", client.one(INSERT, made), "OK")
    c.same("is read as written too", client.read(v1.ActionProfileGroup()), [made])
