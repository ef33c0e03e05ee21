"""Chapters 14, 15 and 17: pipeline configs and capabilities."""

import grpc

from rig import *


def run(c, client, program):
    c.area = "14 SetForwardingPipelineConfig"
    good = program.config_message(cookie=42)
    broken = v1.ForwardingPipelineConfig(p4info=program.info, p4_device_config=b"control { this is no program")
    bare = v1.ForwardingPipelineConfig(p4_device_config=program.config)
    for action in ("VERIFY", "VERIFY_AND_SAVE", "VERIFY_AND_COMMIT", "RECONCILE_AND_COMMIT"):
        number = getattr(SET, action)
        c.same(action + " without config", client.set(number), "INVALID_ARGUMENT")
        c.same(action + " of what is no program", client.set(number, broken), "INVALID_ARGUMENT")
        c.same(action + " without P4Info", client.set(number, bare), "INVALID_ARGUMENT")
    c.same("no action", client.set(SET.UNSPECIFIED, good), "INVALID_ARGUMENT")
    c.same("COMMIT without a saved config", client.set(SET.COMMIT), "NOT_FOUND")
    other = type(program.info)()
    other.CopyFrom(program.info)
    other.tables[0].match_fields[0].bitwidth = 31
    c.same("a P4Info that does not fit", client.set(SET.VERIFY, program.config_message(info=other)), "INVALID_ARGUMENT")
    c.same("VERIFY", client.set(SET.VERIFY, good), "OK")
    c.same("VERIFY changes nothing", client.get().HasField("config"), False)
    c.same("VERIFY_AND_SAVE", client.set(SET.VERIFY_AND_SAVE, good), "OK")
    c.same("COMMIT with a config", client.set(SET.COMMIT, good), "INVALID_ARGUMENT")
    entry = program.entry("routes", [(b"\x0a\x00\x00\x00", 8)], program.action("drop"))
    c.same("writes refer to the saved config", client.one(INSERT, entry), "OK")
    c.same("reads refer to it too", client.read(v1.TableEntry(table_id=program.table("routes"))), [entry])
    c.same("COMMIT", client.set(SET.COMMIT), "OK")
    c.same("what was written meanwhile is there", client.read(v1.TableEntry(table_id=program.table("routes"))), [entry])
    c.same("a second COMMIT has nothing to commit", client.set(SET.COMMIT), "NOT_FOUND")
    c.same("RECONCILE_AND_COMMIT", client.set(SET.RECONCILE_AND_COMMIT, good), "OK")
    c.same("keeps the state", client.read(v1.TableEntry(table_id=program.table("routes"))), [entry])
    c.same("a bad config", client.set(SET.VERIFY_AND_COMMIT, broken), "INVALID_ARGUMENT")
    c.same("leaves the state", client.read(v1.TableEntry(table_id=program.table("routes"))), [entry])
    c.same("VERIFY_AND_COMMIT", client.set(SET.VERIFY_AND_COMMIT, good), "OK")
    c.same("clears the state", client.read(v1.TableEntry(table_id=program.table("routes"))), [])

    c.area = "15 GetForwardingPipelineConfig"
    kinds = v1.GetForwardingPipelineConfigRequest
    for name, number, info, device in [("ALL", kinds.ALL, True, True), ("COOKIE_ONLY", kinds.COOKIE_ONLY, False, False),
                                       ("P4INFO_AND_COOKIE", kinds.P4INFO_AND_COOKIE, True, False),
                                       ("DEVICE_CONFIG_AND_COOKIE", kinds.DEVICE_CONFIG_AND_COOKIE, False, True)]:
        config = client.get(number).config
        c.same(name + " has the cookie", config.cookie.cookie, 42)
        c.same(name + ": P4Info as it was given", config.p4info if config.HasField("p4info") else None,
               program.info if info else None)
        c.same(name + ": device config as it was given", config.p4_device_config, program.config if device else b"")
    c.same("a config without cookie", client.set(SET.VERIFY_AND_COMMIT, program.config_message()), "OK")
    c.same("has none afterwards", client.get().config.HasField("cookie"), False)

    c.area = "17 Capabilities"
    c.same("the version, of the server", client.capabilities().p4runtime_api_version, "1.5.0")
    c.same("the version, of the device", client.capabilities(DEVICE).p4runtime_api_version, "1.5.0")
    c.same("another device", client.capabilities(DEVICE + 1), "NOT_FOUND")
    unknown = client.channel.unary_unary("/p4.v1.P4Runtime/Nothing")
    try:
        unknown(b"", timeout=WAIT)
        c.same("a call that does not exist", "OK", "UNIMPLEMENTED")
    except grpc.RpcError as error:
        c.same("a call that does not exist", rpc_code(error), "UNIMPLEMENTED")
