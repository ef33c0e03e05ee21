// The program with which `switchwright conform` tries a P4Runtime server: one table or extern for every kind of
// entity that the specification knows. It forwards next to nothing.

#include <core.p4>
#include <v1model.p4>

typedef bit<9> port_t;

@controller_header("packet_in")
header packet_in_t {
    bit<16> ingress_port;
}

@controller_header("packet_out")
header packet_out_t {
    bit<16> mark; // 0xffff
    bit<16> egress_port;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

// The keys of the tables below.
header keys_t {
    bit<32> a;
    bit<16> b;
    bit<8>  c;
    bit<12> d;
    bit<4>  zero;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    keys_t       keys;
}

struct note_t {
    bit<48> src;
    bit<9>  port;
}

struct metadata_t {
    port_t  cpu;
    bit<2>  colour;
    bit<32> cell;
    note_t  note;
}

parser ConformParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    value_set<bit<16>>(4) key_types;

    state start {
        transition select(packet.lookahead<bit<16>>()) {
            0xffff: from_controller; // no station address begins so
            default: ethernet;
        }
    }
    state from_controller {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x1234: keys;
            key_types: keys;
            default: accept;
        }
    }
    state keys {
        packet.extract(hdr.keys);
        transition accept;
    }
}

control ConformVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ConformIngress(inout headers_t hdr, inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) exact_hits;
    direct_counter(CounterType.packets) fixed_hits;
    direct_meter<bit<2>>(MeterType.bytes) lpm_rate;
    counter(16, CounterType.packets_and_bytes) cells;
    meter(16, MeterType.packets) rates;
    register<bit<32>>(16) memory;
    action_selector(HashAlgorithm.crc16, 64, 16) choice;

    action drop_it() {
        mark_to_drop(standard_metadata);
    }
    action send(port_t port) {
        standard_metadata.egress_spec = port;
    }
    action send_marked(port_t port, bit<12> mark) {
        standard_metadata.egress_spec = port;
        hdr.keys.d = mark;
    }
    action set_cpu(port_t port) {
        meta.cpu = port;
    }
    action send_metered(port_t port) {
        standard_metadata.egress_spec = port;
        lpm_rate.read(meta.colour);
    }

    // Which port leads to the controller; the control plane says so.
    table cpu {
        actions = { set_cpu; }
        default_action = set_cpu(0);
    }
    table exact_match {
        key = { hdr.keys.b: exact; hdr.keys.d: exact; }
        actions = { send; send_marked; @defaultonly drop_it; @tableonly NoAction; }
        default_action = drop_it();
        counters = exact_hits;
        size = 65536;
    }
    table lpm_match {
        key = { hdr.keys.a: lpm; }
        actions = { send_metered; drop_it; }
        default_action = drop_it();
        meters = lpm_rate;
        size = 65536;
    }
    table mixed_match {
        key = { hdr.keys.a: ternary; hdr.keys.b: range; hdr.keys.c: optional; hdr.keys.d: exact; }
        actions = { send; drop_it; }
        default_action = drop_it();
        size = 1024;
    }
    table constant {
        key = { hdr.keys.c: ternary; }
        actions = { send; drop_it; }
        const default_action = drop_it();
        const entries = {
            0x10 &&& 0xf0: send(1);
            0x12 &&& 0xff: send(2);
            _: drop_it();
        }
        counters = fixed_hits;
    }
    table initial {
        key = { hdr.keys.c: exact; }
        actions = { send; drop_it; }
        default_action = drop_it();
        entries = {
            1: send(1);
            2: send(2);
        }
        size = 64;
    }
    table choosing {
        key = { hdr.keys.b: exact; hdr.ethernet.src: selector; }
        actions = { send; drop_it; }
        implementation = choice;
        size = 256;
    }
    table ageing {
        key = { hdr.keys.b: exact; }
        actions = { send; drop_it; }
        default_action = drop_it();
        support_timeout = true;
        size = 64;
    }

    apply {
        cpu.apply();
        if (hdr.packet_out.isValid()) {
            standard_metadata.egress_spec = (port_t) hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            if (hdr.ethernet.type == 0x8888) {
                meta.note.src = hdr.ethernet.src;
                meta.note.port = standard_metadata.ingress_port;
                digest<note_t>(1, meta.note);
            }
        } else if (hdr.keys.isValid()) {
            exact_match.apply();
            lpm_match.apply();
            mixed_match.apply();
            constant.apply();
            initial.apply();
            choosing.apply();
            ageing.apply();
            cells.count((bit<32>) hdr.keys.c & 15);
            rates.execute_meter((bit<32>) hdr.keys.c & 15, meta.colour);
            memory.read(meta.cell, (bit<32>) hdr.keys.c & 15);
            memory.write((bit<32>) hdr.keys.c & 15, meta.cell + 1);
        } else {
            mark_to_drop(standard_metadata);
        }
    }
}

control ConformEgress(inout headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.cpu != 0 && standard_metadata.egress_port == meta.cpu) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (bit<16>) standard_metadata.ingress_port;
        }
    }
}

control ConformUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ConformDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.keys);
    }
}

V1Switch(ConformParser(), ConformVerify(), ConformIngress(), ConformEgress(), ConformUpdate(), ConformDeparser()) main;
