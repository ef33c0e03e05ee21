"""p4runtime-shell, unmodified, against a running switch: ADDRESS P4INFO DEVICE_CONFIG."""

import sys

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException

address, info, config = sys.argv[1:4]
sh.setup(device_id=0, grpc_addr=address, election_id=(0, 7), config=sh.FwdPipeConfig(info, config))

entry = sh.TableEntry("I.exact_one")(action="I.send")
entry.match["h.h.to"] = "10.0.0.1"
entry.action["port"] = "3"
entry.insert()
try:
    entry.insert()
    sys.exit("inserting twice went unnoticed")
except P4RuntimeWriteException as e:
    assert "ALREADY_EXISTS" in str(e), e
found = list(sh.TableEntry("I.exact_one").read())
assert len(found) == 1 and found[0].action["port"].value == b"\x03", found
entry.action["port"] = "4"
entry.modify()

acl = sh.TableEntry("I.acl")(action="I.counted")
acl.match["h.h.to"] = "1&&&3"
acl.priority = 5
acl.insert()
acl.counter_data
found = next(sh.TableEntry("I.acl").read())
assert found.priority == 5, found

member = sh.ActionProfileMember("I.spread")(member_id=1, action="I.send")
member.action["port"] = "1"
member.insert()
group = sh.ActionProfileGroup("I.spread")(group_id=1)
group.add(1)
group.insert()
ecmp = sh.TableEntry("I.ecmp")(group_id=1)
ecmp.match["h.h.kind"] = "9"
ecmp.insert()

multicast = sh.MulticastGroupEntry(1)
multicast.add(1, 1).add(2, 1)
multicast.insert()
assert len(list(sh.MulticastGroupEntry().read())) == 1

session = sh.CloneSessionEntry(7)
session.add(3, 1)
session.insert()

counter = sh.CounterEntry("I.seen")
counter.index = 3
counter.packet_count = 11
counter.modify()
assert next(counter.read()).packet_count == 11

entry.delete()
assert not list(sh.TableEntry("I.exact_one").read())
sh.teardown()
print("well")
