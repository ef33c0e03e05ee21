"""Sections 8.3 and 9.1: byte strings, matches, priorities, actions, default, constant and preinitialised entries, wildcard reads,
direct resources, idle timeouts."""

from rig import *

NO_LENGTH = b""


def bytestrings(c, client, p):
    c.area = "8.3 bytestrings"
    for value, code in [(b"\x01", "OK"), (b"\x00\x00\x00\x02", "OK"), (b"\x00\x00\x00\x00\x00\x00\x00\x03", "OK"),
                        (b"\xff\xff\xff\xff", "OK"), (b"\x01\x00\x00\x00\x00", "OUT_OF_RANGE"),
                        (NO_LENGTH, "OUT_OF_RANGE")]:
        entry = p.entry("exact_one", [value], p.action("drop"))
        c.same("bit<32> key %s" % value.hex(), client.one(INSERT, entry), code)
        if code == "OK":
            short = value.lstrip(b"\x00")
            found = client.read(p.entry("exact_one", [value]))
            c.same("is read as %s" % short.hex(), [e.match[0].exact.value for e in found], [short])
            client.one(DELETE, entry)
    for value, code in [(b"\x00", "OK"), (b"\x0f\xff", "OK"), (b"\x10\x63", "OUT_OF_RANGE"),
                        (b"\x01\x00\x63", "OUT_OF_RANGE"), (b"\x00\x40\x63", "OUT_OF_RANGE"), (b"\x00\x00\x63", "OK")]:
        entry = p.entry("odd", [b"\x01", value], p.action("NoAction"))
        c.same("bit<12> key %s" % value.hex(), client.one(INSERT, entry), code)
        client.one(DELETE, entry)
    wide = b"\xfe" + b"\x00" * 15
    for a, b, code in [(wide, b"\x0f\xff", "OK"), (b"\x01" + wide, b"\x01", "OUT_OF_RANGE"),
                       (wide, b"\x10\x00", "OUT_OF_RANGE"), (NO_LENGTH, b"\x01", "OUT_OF_RANGE")]:
        entry = p.entry("exact_one", [b"\x09"], p.action("wide", a, b))
        got = client.one(INSERT, entry)
        if code != "OK":
            # Section 9.1.2 says INVALID_ARGUMENT for parameters, 8.3 OUT_OF_RANGE for the string.
            c.one_of("parameters %s.. %s" % (a[:2].hex(), b.hex()), got, [code, "INVALID_ARGUMENT"])
            continue
        c.same("bit<128> and bit<12> parameters", got, code)
        found = client.read(p.entry("exact_one", [b"\x09"]))
        c.same("are read as they were written", found[0].action if found else None, entry.action)
        client.one(DELETE, entry)


def matches(c, client, p):
    c.area = "9.1.1 matches"
    drop, nothing = p.action("drop"), p.action("NoAction")
    for name, key, code in [
        ("LPM", (b"\x0a\x00\x00\x00", 8), "OK"), ("LPM of all bits", (b"\x0a\x00\x00\x01", 32), "OK"),
        ("LPM with bits beyond the prefix", (b"\x0a\x00\x00\x01", 8), "INVALID_ARGUMENT"),
        ("LPM of length 0", (b"\x00", 0), "INVALID_ARGUMENT"), ("LPM longer than the field", (b"\x01", 33), "INVALID_ARGUMENT"),
        ("LPM of a negative length", (b"\x01", -1), "INVALID_ARGUMENT"), ("LPM left out", None, "OK"),
        ("LPM with too large a value", (b"\x01\x00\x00\x00\x00", 8), "OUT_OF_RANGE"),
        ("LPM without value", (b"", 8), "OUT_OF_RANGE"),
    ]:
        entry = p.entry("routes", [key], drop)
        c.same(name, client.one(INSERT, entry), code)
        if code == "OK":
            c.holds(name + " is read as written", entry in client.read(v1.TableEntry(table_id=p.table("routes"))))
            c.same(name + " is deleted", client.one(DELETE, entry), "OK")
    for name, key, code in [
        ("ternary", [(b"\x0a\x00\x00\x00", b"\xff\x00\x00\x00"), None, None], "OK"),
        ("ternary with bits outside the mask", [(b"\x0b", b"\x0a"), None, None], "INVALID_ARGUMENT"),
        ("ternary with a mask of 0", [(b"\x00", b"\x00"), None, None], "INVALID_ARGUMENT"),
        ("ternary with an empty mask", [(b"\x00", b""), None, None], "OUT_OF_RANGE"),
        ("ternary with too wide a mask", [(b"\x01", b"\x01\x00\x00\x00\x01"), None, None], "OUT_OF_RANGE"),
        ("range", [None, (b"\x01", b"\x0f"), None], "OK"), ("range of one", [None, (b"\x05", b"\x05"), None], "OK"),
        ("range the wrong way round", [None, (b"\x0f", b"\x01"), None], "INVALID_ARGUMENT"),
        ("range of everything", [None, (b"\x00", b"\xff\xff"), None], "INVALID_ARGUMENT"),
        ("range beyond the field", [None, (b"\x00", b"\x01\x00\x00"), None], "OUT_OF_RANGE"),
        ("range without an end", [None, (b"\x00", b""), None], "OUT_OF_RANGE"),
        ("optional", [None, None, b"\x07"], "OK"), ("optional, empty", [None, None, b""], "OUT_OF_RANGE"),
        ("optional beyond the field", [None, None, b"\x01\x00"], "OUT_OF_RANGE"), ("nothing at all", [None] * 3, "OK"),
        ("all three", [(b"\x01", b"\x03"), (b"\x00", b"\x0f"), b"\x01"], "OK"),
    ]:
        entry = p.entry("acl", key, nothing, priority=5)
        c.same(name, client.one(INSERT, entry), code)
        if code == "OK":
            found = client.read(v1.TableEntry(table_id=p.table("acl")))
            c.same(name + " is read as written", found, [entry])
            c.same(name + " is deleted", client.one(DELETE, entry), "OK")
    for name, field, kind in [("exact where LPM is expected", "routes", "exact"), ("LPM where exact is expected", "exact_one", "lpm"),
                              ("ternary where exact is expected", "exact_one", "ternary"),
                              ("range where LPM is expected", "routes", "range")]:
        entry = p.entry(field, [], drop)
        match = entry.match.add(field_id=1)
        getattr(match, kind).SetInParent()
        if kind in ("exact", "lpm", "ternary"):
            getattr(match, kind).value = b"\x01"
        c.same(name, client.one(INSERT, entry), "INVALID_ARGUMENT")
    entry = p.entry("exact_one", [b"\x01"], drop)
    entry.match[0].ClearField("exact")
    c.same("a match without a kind", client.one(INSERT, entry), "INVALID_ARGUMENT")
    entry = p.entry("exact_one", [b"\x01"], drop)
    entry.match[0].field_id = 9
    c.same("a field that does not exist", client.one(INSERT, entry), "INVALID_ARGUMENT")
    entry = p.entry("exact_one", [b"\x01"], drop)
    entry.match.add().CopyFrom(entry.match[0])
    c.same("a field twice", client.one(INSERT, entry), "INVALID_ARGUMENT")
    c.same("an exact field left out", client.one(INSERT, p.entry("exact_one", [None], drop)), "INVALID_ARGUMENT")
    c.same("table 0", client.one(INSERT, v1.TableEntry(action=v1.TableAction(action=drop))), "INVALID_ARGUMENT")
    c.one_of("a table that does not exist", client.one(INSERT, v1.TableEntry(table_id=0x02ffffff)),
             ["INVALID_ARGUMENT", "NOT_FOUND"])


def priorities(c, client, p):
    c.area = "9.1 priorities"
    nothing = p.action("NoAction")
    for priority, code in [(0, "INVALID_ARGUMENT"), (-1, "INVALID_ARGUMENT"), (1, "OK"), (2147483647, "OK")]:
        entry = p.entry("acl", [None, None, b"\x01"], nothing, priority=priority)
        c.same("priority %d with an optional field" % priority, client.one(INSERT, entry), code)
        if code == "OK":
            c.same("its deletion", client.one(DELETE, entry), "OK")
    entry = p.entry("routes", [(b"\x0a\x00\x00\x00", 8)], p.action("drop"), priority=1)
    c.same("a priority with LPM", client.one(INSERT, entry), "INVALID_ARGUMENT")
    entry = p.entry("exact_one", [b"\x01"], p.action("drop"), priority=1)
    c.same("a priority with exact", client.one(INSERT, entry), "INVALID_ARGUMENT")
    one = p.entry("acl", [None, None, b"\x01"], nothing, priority=1)
    two = p.entry("acl", [None, None, b"\x01"], nothing, priority=2)
    c.same("key and priority name an entry", client.write(update(INSERT, one), update(INSERT, two)), ["OK", "OK"])
    c.same("the same key and priority again", client.one(INSERT, one), "ALREADY_EXISTS")
    c.same("a read by priority", client.read(v1.TableEntry(table_id=p.table("acl"), priority=2)), [two])
    client.write(update(DELETE, one), update(DELETE, two))


def verbs(c, client, p):
    c.area = "9.1 and 12 verbs"
    entry = p.entry("exact_one", [b"\x01"], p.action("send", b"\x02"))
    c.same("MODIFY of what is not there", client.one(MODIFY, entry), "NOT_FOUND")
    c.same("DELETE of what is not there", client.one(DELETE, entry), "NOT_FOUND")
    c.same("no verb", client.one(v1.Update.UNSPECIFIED, entry), "INVALID_ARGUMENT")
    c.same("INSERT", client.one(INSERT, entry), "OK")
    c.same("INSERT again", client.one(INSERT, entry), "ALREADY_EXISTS")
    other = p.entry("exact_one", [b"\x01"], p.action("send", b"\x03"))
    c.same("an INSERT that fails", client.one(INSERT, other), "ALREADY_EXISTS")
    c.same("changes nothing", client.read(p.entry("exact_one", [b"\x01"])), [entry])
    c.same("MODIFY", client.one(MODIFY, other), "OK")
    c.same("changes it", client.read(p.entry("exact_one", [b"\x01"])), [other])
    c.same("MODIFY without action", client.one(MODIFY, p.entry("exact_one", [b"\x01"], metadata=b"m")), "OK")
    found = client.read(p.entry("exact_one", [b"\x01"]))
    c.same("leaves the action", [(e.action, e.metadata) for e in found], [(other.action, b"m")])
    c.same("a MODIFY is the whole", client.one(MODIFY, other), "OK")
    c.same("so that what is left out goes", client.read(p.entry("exact_one", [b"\x01"])), [other])
    wrong = p.entry("exact_one", [b"\x01"], v1.Action(action_id=1), metadata=b"x", idle_timeout_ns=-5)
    c.same("DELETE looks at the key alone", client.one(DELETE, wrong), "OK")
    c.same("INSERT without action", client.one(INSERT, p.entry("exact_one", [b"\x01"])), "INVALID_ARGUMENT")
    c.same("INSERT with an empty action", client.one(INSERT, p.entry("exact_one", [b"\x01"], v1.TableAction())),
           "INVALID_ARGUMENT")
    const = p.entry("exact_one", [b"\x01"], p.action("drop"), is_const=True)
    for name, verb in [("INSERT", INSERT), ("MODIFY", MODIFY), ("DELETE", DELETE)]:
        c.same("%s with is_const" % name, client.one(verb, const), "INVALID_ARGUMENT")
    c.same("a key for a table without", client.one(INSERT, p.entry("keyless", [], p.action("NoAction"))), "INVALID_ARGUMENT")
    entries = [p.entry("acl", [None, (b"\x01", bytes([n])), None], p.action("NoAction"), priority=1) for n in range(1, 12)]
    codes = client.write(*[update(INSERT, e) for e in entries])
    c.same("a full table takes no more", codes.count("RESOURCE_EXHAUSTED") + codes.count("OK"), 11)
    c.holds("and no fewer than it says", codes.count("OK") >= 8)
    client.write(*[update(DELETE, e) for e, code in zip(entries, codes) if code == "OK"])
    c.same("an update without entity", client.write(v1.Update(type=INSERT)), ["INVALID_ARGUMENT"])
    c.same("an extern entry", client.one(INSERT, v1.ExternEntry(extern_type_id=129, extern_id=1)) != "OK", True)


def actions(c, client, p):
    c.area = "9.1.2 actions"
    send = p.id("actions", "send")
    param = v1.Action.Param
    for name, table, action, code in [
        ("an action of another table", "exact_one", p.action("counted"), "INVALID_ARGUMENT"),
        ("an action that does not exist", "exact_one", v1.Action(action_id=0x01ffffff), "INVALID_ARGUMENT"),
        ("action 0", "exact_one", v1.Action(), "INVALID_ARGUMENT"),
        ("a missing parameter", "exact_one", v1.Action(action_id=send), "INVALID_ARGUMENT"),
        ("an extra parameter", "exact_one", p.action("send", b"\x01", b"\x01"), "INVALID_ARGUMENT"),
        ("a parameter twice", "exact_one",
         v1.Action(action_id=send, params=[param(param_id=1, value=b"\x01"), param(param_id=1, value=b"\x01")]),
         "INVALID_ARGUMENT"),
        ("a parameter of another number", "exact_one", v1.Action(action_id=send, params=[param(param_id=7, value=b"\x01")]),
         "INVALID_ARGUMENT"),
    ]:
        key = [b"\x31"]
        c.same(name, client.one(INSERT, p.entry(table, key, action)), code)
    entry = p.entry("routes", [None], p.action("NoAction"))
    c.same("a default-only action in an entry", client.one(INSERT, entry), "PERMISSION_DENIED")
    default = p.entry("routes", [], p.action("to_cpu"), is_default_action=True)
    c.same("a table-only action as default", client.one(MODIFY, default), "PERMISSION_DENIED")
    for name, kind in [("a member", v1.TableAction(action_profile_member_id=1)), ("a group", v1.TableAction(action_profile_group_id=1)),
                       ("a one-shot set", v1.TableAction(action_profile_action_set=v1.ActionProfileActionSet()))]:
        c.same(name + " in a direct table", client.one(INSERT, p.entry("exact_one", [b"\x31"], kind)), "INVALID_ARGUMENT")
    swapped = v1.Action(action_id=p.id("actions", "wide"),
                        params=[param(param_id=2, value=b"\x02"), param(param_id=1, value=b"\x01")])
    entry = p.entry("exact_one", [b"\x31"], swapped)
    c.same("parameters in another order", client.one(INSERT, entry), "OK")
    found = client.read(p.entry("exact_one", [b"\x31"]))
    values = {q.param_id: q.value for q in found[0].action.action.params} if found else None
    c.same("are those of their numbers", values, {1: b"\x01", 2: b"\x02"})
    client.one(DELETE, entry)


def defaults(c, client, p):
    c.area = "9.1.3 default entry"
    table = p.table("exact_one")
    ask = v1.TableEntry(table_id=table, is_default_action=True)
    own = v1.TableAction(action=p.action("drop"))

    def default(action=None, **fields):
        action = v1.TableAction(action=action) if action else None
        return v1.TableEntry(table_id=table, is_default_action=True, action=action, **fields)

    c.same("the program's own is read", [e.action for e in client.read(ask)], [own])
    for name, verb in [("INSERT", INSERT), ("DELETE", DELETE)]:
        c.same(name, client.one(verb, default(p.action("drop"))), "INVALID_ARGUMENT")
    c.same("with a match", client.one(MODIFY, default(p.action("drop"), match=p.key("exact_one", b"\x01"))), "INVALID_ARGUMENT")
    c.same("with a priority", client.one(MODIFY, default(p.action("drop"), priority=1)), "INVALID_ARGUMENT")
    c.same("with an idle timeout", client.one(MODIFY, default(p.action("drop"), idle_timeout_ns=1)), "INVALID_ARGUMENT")
    c.same("with a wrong action", client.one(MODIFY, default(p.action("counted"))), "INVALID_ARGUMENT")
    entry = default(p.action("send", b"\x05"), metadata=b"note")
    c.same("MODIFY", client.one(MODIFY, entry), "OK")
    c.same("is read as written", client.read(ask), [entry])
    c.same("is not among the entries", client.read(v1.TableEntry(table_id=table)), [])
    c.same("MODIFY without action", client.one(MODIFY, default()), "OK")
    c.same("brings back the program's own", client.read(ask), [default(p.action("drop"))])
    const = v1.TableEntry(table_id=p.table("policed"), is_default_action=True, action=v1.TableAction(action=p.action("NoAction")))
    c.same("a const default entry", client.one(MODIFY, const), "PERMISSION_DENIED")
    keyless = v1.TableEntry(table_id=p.table("keyless"), is_default_action=True,
                            action=v1.TableAction(action=p.action("send", b"\x01")))
    c.same("of a table without key", client.one(MODIFY, keyless), "OK")
    client.one(MODIFY, v1.TableEntry(table_id=p.table("keyless"), is_default_action=True))
    everywhere = client.read(v1.TableEntry(is_default_action=True))
    c.same("of all tables", {e.table_id for e in everywhere} >= {table, p.table("routes"), p.table("keyless")}, True)
    c.same("and nothing else", all(e.is_default_action for e in everywhere), True)


def constants(c, client, p):
    c.area = "9.1.4 and 9.1.5 const and initial entries"
    fixed = client.read(v1.TableEntry(table_id=p.table("fixed")))
    c.same("const entries are read", len(fixed), 2)
    c.same("their priorities fall from the number of entries", [e.priority for e in sorted(fixed, key=lambda e: -e.priority)], [2, 1])
    c.same("they say so", [e.is_const for e in fixed], [True, True])
    own = fixed[0]
    own.is_const = False
    new = p.entry("fixed", [None, b"\x09"], p.action("NoAction"), priority=9)
    c.same("INSERT into a const table", client.one(INSERT, new), "PERMISSION_DENIED")
    c.same("MODIFY of a const entry", client.one(MODIFY, own), "PERMISSION_DENIED")
    c.same("DELETE of a const entry", client.one(DELETE, own), "PERMISSION_DENIED")
    default = v1.TableEntry(table_id=p.table("fixed"), is_default_action=True, action=v1.TableAction(action=p.action("send", b"\x01")))
    c.same("its default entry", client.one(MODIFY, default), "OK")
    client.one(MODIFY, v1.TableEntry(table_id=p.table("fixed"), is_default_action=True))
    begun = {e.match[0].exact.value: e for e in client.read(v1.TableEntry(table_id=p.table("begun")))}
    c.same("initial entries are read", set(begun), {b"\xc8", b"\xc9"})
    c.same("the const one says so", [begun[b"\xc8"].is_const, begun[b"\xc9"].is_const], [True, False])
    const = p.entry("begun", [b"\xc8"], p.action("NoAction"))
    c.same("MODIFY of the const one", client.one(MODIFY, const), "PERMISSION_DENIED")
    c.same("DELETE of the const one", client.one(DELETE, const), "PERMISSION_DENIED")
    c.same("INSERT beside them", client.one(INSERT, p.entry("begun", [b"\x01"], p.action("NoAction"))), "OK")
    c.same("its DELETE", client.one(DELETE, p.entry("begun", [b"\x01"])), "OK")
    c.same("MODIFY of the other", client.one(MODIFY, p.entry("begun", [b"\xc9"], p.action("NoAction"))), "OK")
    c.same("DELETE of the other", client.one(DELETE, p.entry("begun", [b"\xc9"])), "OK")
    c.same("and INSERT again", client.one(INSERT, begun[b"\xc9"]), "OK")


def wildcards(c, client, p):
    c.area = "9.1.6 and 13.2 reads"
    ids = {name: p.table(name) for name in ("exact_one", "routes", "acl")}
    ten = p.entry("routes", [(b"\x0a\x00\x00\x00", 8)], p.action("drop"), metadata=b"ten", controller_metadata=10)
    twelve = p.entry("routes", [(b"\x0c\x00\x00\x00", 8)], p.action("send", b"\x01"), metadata=b"twelve")
    every = p.entry("routes", [None], p.action("send", b"\x02"))
    one = p.entry("exact_one", [b"\x01"], p.action("drop"))
    client.write(*[update(INSERT, e) for e in (ten, twelve, every, one)])

    def found(**fields):
        return sorted(e.metadata for e in client.read(v1.TableEntry(table_id=ids["routes"], **fields)))

    c.same("of a table", found(), [b"", b"ten", b"twelve"])
    c.same("by metadata", found(metadata=b"ten"), [b"ten"])
    c.same("by controller_metadata", found(controller_metadata=10), [b"ten"])
    c.same("by action", found(action=v1.TableAction(action=v1.Action(action_id=p.id("actions", "send")))), [b"", b"twelve"])
    c.same("by match", found(match=ten.match), [b"ten"])
    c.same("by a match that is not there", found(match=p.key("routes", (b"\x0d\x00\x00\x00", 8))), [])
    everything = client.read(v1.TableEntry())
    c.same("of all tables", {e.table_id for e in everything},
           {p.table(name) for name in ("routes", "exact_one", "fixed", "begun")})
    c.same("an entity that is unset", client.read(v1.Entity()), "INVALID_ARGUMENT")
    c.one_of("a table that does not exist", client.read(v1.TableEntry(table_id=0x02ffffff)), ["INVALID_ARGUMENT", "NOT_FOUND"])
    c.same("all tables with a filter", client.read(v1.TableEntry(priority=3)), "INVALID_ARGUMENT")
    c.same("no entities", client.read(), [])
    messages, error = client.read_status(ten, v1.Entity(), one, v1.TableEntry(table_id=ids["routes"], match=p.key("exact_one", b"")))
    c.same("what can be read is, whatever else is asked", len(messages), 2)
    c.same("the call then says UNKNOWN", error and rpc_code(error), "UNKNOWN")
    codes = details(error)[1] if error else []
    c.same("with a code for each request", codes[:3], ["OK", "INVALID_ARGUMENT", "OK"])
    c.same("in their order", len(codes), 4)

    c.same("externs, of which there are none", client.read(v1.ExternEntry()), [])
    client.write(*[update(DELETE, e) for e in (ten, twelve, every, one)])


def direct(c, client, p, ports):
    c.area = "9.1.7 direct resources"
    count = v1.CounterData
    meter = v1.MeterConfig(cir=1, cburst=2, pir=3, pburst=4)
    key = [None, None, b"\x01"]
    entry = p.entry("acl", key, p.action("counted"), priority=1)
    ask = v1.TableEntry(table_id=p.table("acl"), counter_data=count())

    def counter():
        return [(e.counter_data.packet_count, e.counter_data.byte_count) for e in client.read(ask)]

    c.same("INSERT without counter_data", client.one(INSERT, entry), "OK")
    c.same("starts at zero", counter(), [(0, 0)])
    plain = client.read(v1.TableEntry(table_id=p.table("acl")))
    c.same("counter_data comes only if asked for", [e.HasField("counter_data") for e in plain], [False])
    ports.send(1, frame(kind=1, payload=b"x" * 13))
    c.same("packets count", until(lambda: counter() == [(1, 20)]), True)
    c.same("MODIFY without counter_data", client.one(MODIFY, entry), "OK")
    c.same("leaves the counter", counter(), [(1, 20)])
    entry.counter_data.packet_count = 7
    c.same("MODIFY with counter_data", client.one(MODIFY, entry), "OK")
    c.same("sets it", counter(), [(7, 0)])
    named = v1.DirectCounterEntry(table_entry=p.entry("acl", key, priority=1), data=count(packet_count=3, byte_count=4))
    c.same("MODIFY of the DirectCounterEntry", client.one(MODIFY, named), "OK")
    c.same("sets it too", counter(), [(3, 4)])
    c.same("without data it changes nothing", client.one(MODIFY, v1.DirectCounterEntry(table_entry=named.table_entry)), "OK")
    c.same("nothing", counter(), [(3, 4)])
    found = client.read(v1.DirectCounterEntry(table_entry=named.table_entry))
    c.same("it is read with its key and data", found, [named])
    c.same("and of a whole table", client.read(v1.DirectCounterEntry(table_entry=v1.TableEntry(table_id=p.table("acl")))), [named])
    for name, verb in [("INSERT", INSERT), ("DELETE", DELETE)]:
        c.same("%s of a DirectCounterEntry" % name, client.one(verb, named), "INVALID_ARGUMENT")
    missing = p.entry("acl", [None, None, b"\x02"], priority=1)
    c.same("of an entry that is not there", client.one(MODIFY, v1.DirectCounterEntry(table_entry=missing, data=count())), "NOT_FOUND")
    c.same("nor read", client.read(v1.DirectCounterEntry(table_entry=missing)), "NOT_FOUND")
    c.same("DELETE of the entry", client.one(DELETE, entry), "OK")
    c.same("takes its counter", client.read(v1.DirectCounterEntry(table_entry=named.table_entry)), "NOT_FOUND")
    entry.counter_data.packet_count = 9
    c.same("INSERT with counter_data", client.one(INSERT, entry), "OK")
    c.same("starts there", counter(), [(9, 0)])
    client.one(DELETE, entry)
    counted = p.entry("exact_one", [b"\x01"], p.action("drop"), counter_data=count(packet_count=1))
    c.same("counter_data where there is no counter", client.one(INSERT, counted), "INVALID_ARGUMENT")

    policed = p.entry("policed", [b"\x01"], p.action("metered"))
    ask = v1.TableEntry(table_id=p.table("policed"), meter_config=v1.MeterConfig())
    c.same("INSERT without meter_config", client.one(INSERT, policed), "OK")
    c.same("reads as the default, unset", [e.HasField("meter_config") for e in client.read(ask)], [False])
    policed.meter_config.CopyFrom(meter)
    c.same("MODIFY with meter_config", client.one(MODIFY, policed), "OK")
    c.same("is read", [e.meter_config for e in client.read(ask)], [meter])
    policed.ClearField("meter_config")
    c.same("MODIFY without", client.one(MODIFY, policed), "OK")
    c.same("resets it", [e.HasField("meter_config") for e in client.read(ask)], [False])
    named = v1.DirectMeterEntry(table_entry=p.entry("policed", [b"\x01"]), config=meter)
    c.same("MODIFY of the DirectMeterEntry", client.one(MODIFY, named), "OK")
    c.same("is read", client.read(v1.DirectMeterEntry(table_entry=named.table_entry)), [named])
    for name, changed in BAD_METERS:
        bad = v1.DirectMeterEntry(table_entry=named.table_entry, config=v1.MeterConfig(**dict(METER, **changed)))
        c.same("a direct meter with " + name, client.one(MODIFY, bad), "INVALID_ARGUMENT")
        policed.meter_config.CopyFrom(bad.config)
        c.same("an entry whose meter has " + name, client.one(MODIFY, policed), "INVALID_ARGUMENT")
    c.same("what was refused changed nothing", client.read(v1.DirectMeterEntry(table_entry=named.table_entry)), [named])
    for name, verb in [("INSERT", INSERT), ("DELETE", DELETE)]:
        c.same("%s of a DirectMeterEntry" % name, client.one(verb, named), "INVALID_ARGUMENT")
    marked = v1.DirectMeterEntry(table_entry=named.table_entry, config=meter, counter_data=v1.MeterCounterData())
    c.same("the counts of colours are set to zero", client.one(MODIFY, marked), "OK")
    found = client.read(v1.DirectMeterEntry(table_entry=named.table_entry, counter_data=v1.MeterCounterData()))
    c.same("and read if asked for", [m.HasField("counter_data") for m in found], [True])
    marked.counter_data.green.packet_count = 1
    c.same("but not to anything else", client.one(MODIFY, marked), "INVALID_ARGUMENT")
    c.same("a DirectMeterEntry without config", client.one(MODIFY, v1.DirectMeterEntry(table_entry=named.table_entry)), "OK")
    found = client.read(v1.DirectMeterEntry(table_entry=named.table_entry))
    c.same("resets the meter", [m.HasField("config") for m in found], [False])
    policed.ClearField("meter_config")
    client.one(DELETE, policed)


METER = dict(cir=1, cburst=2, pir=3, pburst=4)
BAD_METERS = [("cir above pir", dict(cir=4)), ("a negative rate", dict(cir=-1)), ("a negative burst", dict(pburst=-1)),
              ("an excess burst", dict(eburst=1))]


def idle(c, client, p):
    c.area = "9.1.8 idle timeouts"
    timeout = 50 * 1000 * 1000
    entry = p.entry("exact_one", [b"\x21"], p.action("drop"), idle_timeout_ns=timeout, metadata=b"idle", controller_metadata=3)
    c.same("INSERT", client.one(INSERT, entry), "OK")
    c.same("is read as written", client.read(p.entry("exact_one", [b"\x21"])), [entry])
    ask = v1.TableEntry(table_id=p.table("exact_one"), time_since_last_hit=v1.TableEntry.IdleTimeout())
    c.same("time_since_last_hit is there if asked for", [e.HasField("time_since_last_hit") for e in client.read(ask)], [True])
    for turn in ("first", "second"):
        message = client.hear_of("idle_timeout_notification")
        told = message.table_entry[0] if message is not None and not isinstance(message, str) else v1.TableEntry()
        c.same("the %s notification names the entry" % turn, (told.table_id, list(told.match)), (entry.table_id, list(entry.match)))
        c.same("with its timeout and metadata", (told.idle_timeout_ns, told.metadata, told.controller_metadata),
               (timeout, b"idle", 3))
    c.holds("with the time", message is not None and message.timestamp > 0)
    c.same("time_since_last_hit in a write",
           client.one(MODIFY, p.entry("exact_one", [b"\x21"], p.action("drop"), time_since_last_hit=v1.TableEntry.IdleTimeout())),
           "INVALID_ARGUMENT")
    c.same("a negative timeout", client.one(MODIFY, p.entry("exact_one", [b"\x21"], p.action("drop"), idle_timeout_ns=-1)),
           "INVALID_ARGUMENT")
    client.one(DELETE, entry)
    c.same("a timeout where entries do not age", client.one(INSERT, p.entry("routes", [None], p.action("drop"), idle_timeout_ns=1)),
           "INVALID_ARGUMENT")
    asked = v1.TableEntry(table_id=p.table("routes"), time_since_last_hit=v1.TableEntry.IdleTimeout())
    c.same("its time asked for there", client.read(asked), "INVALID_ARGUMENT")


def run(c, client, program, ports):
    bytestrings(c, client, program)
    matches(c, client, program)
    priorities(c, client, program)
    verbs(c, client, program)
    actions(c, client, program)
    defaults(c, client, program)
    constants(c, client, program)
    wildcards(c, client, program)
    direct(c, client, program, ports)
    idle(c, client, program)
