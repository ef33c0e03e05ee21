#include <core.p4>
#include <v1model.p4>
header e_t { bit<48> d; bit<48> s; bit<16> t; }
header i_t { bit<4> v; bit<4> l; bit<8> tos; bit<16> len; bit<8> ttl; bit<8> pr; bit<16> ck; bit<32> a; bit<32> b; varbit<320> o; }
header m_t { bit<20> l; bit<1> bos; bit<11> r; }
header_union u_t { m_t m; e_t e; }
struct hs { e_t e; m_t[3] m; i_t i; u_t u; }
struct md { @field_list(1) bit<16> h; bit<8> x; bool f; }
parser P(packet_in p, out hs h, inout md m, inout standard_metadata_t s) {
  value_set<bit<16>>(4) vs;
  state start { p.extract(h.e); transition select(h.e.t) { 0x8847 &&& 0xfffe: ms; 0x800: ip; vs: ip; default: accept; } }
  state ms { p.extract(h.m.next); transition select(h.m.last.bos, p.lookahead<bit<4>>()) { (0, _): ms; (1, 4): ip; (1, _): accept; } }
  state ip { p.extract(h.i, (bit<32>) (h.e.t[2:0] ++ 3w0)); verify(h.i.v == 4, error.NoMatch); transition accept; }
}
control V(inout hs h, inout md m) { apply { verify_checksum(h.i.isValid(), { h.i.v, h.i.l, h.i.tos, h.i.len, h.i.a }, h.i.ck, HashAlgorithm.csum16); } }
control I(inout hs h, inout md m, inout standard_metadata_t s) {
  counter(8, CounterType.packets) c; meter(4, MeterType.bytes) me; register<bit<16>>(16) r; direct_counter(CounterType.bytes) dc;
  action go(bit<9> p) { s.egress_spec = p; dc.count(); c.count((bit<32>) p); h.i.ttl = h.i.ttl - 1; }
  action dr() { mark_to_drop(s); }
  action ha() { hash(m.h, HashAlgorithm.crc16, 16w0, { h.i.a, h.i.b, h.m[0].l }, 16w1024); r.write((bit<32>) m.h, m.h |-| 3); }
  action_selector(HashAlgorithm.crc32, 16, 10) as;
  action go_on() { h.m.push_front(1); h.m[0].setValid(); }
  table t { key = { h.i.a: lpm; h.m[0].isValid(): exact; } actions = { go; dr; NoAction; } counters = dc; const default_action = dr(); size = 32;
    const entries = { (0x0a000000 &&& 0xff000000, false): go(3); } }
  table u { key = { h.e.d: ternary; m.x: range; m.f: optional; m.h: selector; } actions = { go_on; ha; } implementation = as; }
  apply { if (h.i.isValid() && !h.u.isValid()) { switch (t.apply().action_run) { go: { ha(); } default: { m.x = m.x << 2; } } }
    else if (h.e.s > 5) { clone_preserving_field_list(CloneType.I2E, 5, 1); digest(1, { m.h, m.x }); random(m.x, 8w0, 8w9); me.execute_meter(1, m.x); log_msg("x {}", { m.x }); } }
}
control E(inout hs h, inout md m, inout standard_metadata_t s) { apply { if (s.instance_type == 1) { truncate(64); } h.e.s[7:0] = h.e.s[15:8] ^ (bit<8>) s.egress_port; } }
control C(inout hs h, inout md m) { apply { update_checksum(true, { h.i.v, h.i.l, h.i.tos, h.i.len, h.i.a }, h.i.ck, HashAlgorithm.csum16); } }
control D(packet_out p, in hs h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
