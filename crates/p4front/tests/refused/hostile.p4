#include <v1model.p4>

typedef bit<48> mac_t;
type bit<9> port_t;
enum bit<16> EtherType { Ipv4 = 0x800, Tag = 0x88b5 }
error { TooMany }

header eth_t { mac_t dst; mac_t src; EtherType type; }
header tag_t { bit<7> id; bit<1> last; }
header opt_t { bit<8> len; varbit<64> data; }
header_union either_t { tag_t tag; eth_t inner; }
struct pair<T> { T left; T right; }
struct headers { eth_t eth; tag_t[4] tags; opt_t opt; either_t either; }
struct meta_t { bit<16> hash; @field_list(1) bit<8> count; pair<bit<8>> two; bool flag; }

const pair<bit<8>> TWO = { left = 1, right = 2 };
T larger<T>(in bool c, in T a, in T b, inout bit<8> n) {
    n = n |+| 1;
    return c ? a : b;
}

parser TagParser(packet_in p, out tag_t[4] tags, in bit<8> limit) {
    state start { transition next; }
    state next {
        p.extract(tags.next);
        verify(limit != 0, error.TooMany);
        transition select(tags.last.last, p.lookahead<bit<8>>()) {
            (1, _): accept;
            (0, 0 .. 200): next;
            default: reject;
        }
    }
}

parser MyParser(packet_in p, out headers hdr, inout meta_t m, inout standard_metadata_t s) {
    TagParser() tags;
    value_set<bit<8>>(4) known;
    state start {
        p.extract(hdr.eth);
        transition select(hdr.eth.type) {
            EtherType.Tag: tagged;
            EtherType.Ipv4 &&& 0xff00: options;
            _: accept;
        }
    }
    state tagged { tags.apply(p, hdr.tags, 4); transition options; }
    state options {
        bit<8> length = p.lookahead<bit<8>>();
        p.extract(hdr.opt, (bit<32>) (length & 7) << 3);
        transition select(length) { known: accept; default: union; }
    }
    state union { p.extract(hdr.either.tag); p.advance(8); transition accept; }
}

control Check(inout headers hdr, inout meta_t m) {
    apply { verify_checksum(hdr.eth.isValid(), { hdr.eth.dst, hdr.eth.src }, m.hash, HashAlgorithm.csum16); }
}

control Count(inout bit<8> n)(bit<32> size) {
    register<bit<8>>(size) seen;
    apply { seen.read(n, 0); n = n + 1; seen.write(0, n); }
}

control MyIngress(inout headers hdr, inout meta_t m, inout standard_metadata_t s) {
    Count(16) count;
    direct_counter(CounterType.packets_and_bytes) hits;
    action_selector(HashAlgorithm.crc32, 64, 10) sel;
    @id(3) action go(port_t port, bit<8> n) { s.egress_spec = (bit<9>) port; m.count = n; hits.count(); }
    action set(inout bit<8> n, in bit<8> by) { n = n + by; }
    action drop() { mark_to_drop(s); exit; }
    table routes {
        key = { hdr.eth.dst: ternary; hdr.tags[0].id: exact @name("tag"); m.flag: optional; }
        actions = { go; set(m.count, 4); @defaultonly drop; }
        const default_action = drop();
        entries = {
            priority = 20: (0x1 &&& 0xff, 3, true): go((port_t) 9w4, 2);
            priority = 10: (_, 4, _): set(m.count, 4);
        }
        counters = hits;
        largest_priority_wins = true;
        size = 128;
    }
    table spread {
        key = { m.hash: selector; hdr.eth.src: lpm; }
        actions = { go; NoAction; }
        implementation = sel;
    }
    apply {
        m.two = TWO;
        m.two.left = larger<mac_t>(m.flag, hdr.eth.dst, hdr.eth.src, m.count) ++ 8w0 == 0 ? 8w1 : m.two.right;
        if (!routes.apply().hit && m.flag) { spread.apply(); }
        switch (spread.apply().action_run) { go: { count.apply(m.count); } default: { set(m.count, 1); } }
        for (bit<8> i in 8w0 .. 3) { if (i == m.count) { continue; } hdr.tags[i].id = (bit<7>) i; }
        for (bit<8> j = 0; j < 4; j = j + 1) { m.hash[7:0] = m.hash[7:0] ^ j; }
        hash(m.hash, HashAlgorithm.crc16, 16w0, { hdr.eth.src, hdr.eth.type }, 16w64);
        hdr.tags.push_front(1);
        hdr.tags[0] = { 7, 1 };
        hdr.either.tag.setValid();
        m.hash = (bit<16>) (hdr.tags == hdr.tags ? 1w1 : 0) + hdr.eth.dst[15:0];
        digest<pair<bit<8>>>(1, m.two);
        log_msg("count {}", { m.count });
    }
}

control MyEgress(inout headers hdr, inout meta_t m, inout standard_metadata_t s) {
    apply { if (s.instance_type == 0) { clone_preserving_field_list(CloneType.E2E, 5, 1); } }
}

control Update(inout headers hdr, inout meta_t m) { apply { } }
control MyDeparser(packet_out p, in headers hdr) { apply { p.emit(hdr.eth); p.emit(hdr); } }

@pkginfo(name = "hostile", version = "1")
V1Switch(MyParser(), Check(), MyIngress(), MyEgress(), Update(), MyDeparser()) main;
