#include <core.p4>
header h_t { bit<8> a; int<8> b; varbit<64> v; }
header_union u_t { h_t x; h_t y; }
struct in_t { bit<4> p; bit<4> q; }
struct s_t { h_t[3] st; u_t u; bool f; tuple<bit<8>, in_t> t; error e; in_t[2] ar; }
enum bit<8> k_t { one = 1, two = one + 1 }
extern Obj<T> { Obj(T t); T get(in T x); abstract bit<8> hook(in T x); }
bit<8> twice(in bit<8> x) { return x << 1; }
T same<T>(in T x) { return x; }
parser sub(packet_in p, out h_t h, inout s_t s) {
  state start { p.extract(h, (bit<32>) (p.lookahead<bit<8>>() & 7)); verify(h.a != 3, error.NoMatch); transition accept; }
}
parser prs(packet_in p, out s_t s) {
  sub() inner;
  value_set<bit<8>>(4) vs;
  state start { inner.apply(p, s.st[0], s); transition select(s.st[0].a, { s.f, s.st[0].b }) {
      (1 &&& 3, { true, -1 }): more; (5 .. 9, _): accept; default: reject; } }
  state more { p.extract(s.st.next, 8); s.e = error.StackOutOfBounds; transition select(s.st.last.a) { vs: more; _: accept; } }
}
control leaf(inout bit<8> x)(bit<8> by) { apply { x = x |+| by; } }
control ctl(inout s_t s) {
  leaf(3) l1; leaf(4) l2;
  Obj<bit<8>>(8w1) o = { bit<8> hook(in bit<8> x) { return twice(x); } };
  action set(inout bit<8> x, in bit<8> y, bit<4> z) { x = y ++ z == 12w3 ? x : (bit<8>) z; }
  table tb { key = { s.st[0].a: exact @name("a"); s.f: ternary; s.st[1].isValid(): exact @name("v"); }
    actions = { set(s.st[1].a, twice(s.st[0].a)); NoAction; } default_action = set(s.st[1].a, twice(s.st[0].a), 3);
    const entries = { (1, _, true): set(s.st[1].a, twice(s.st[0].a), 4); (k_t.two, true, false): NoAction(); } size = 2 * 8; }
  apply {
    l1.apply(s.st[0].a); l2.apply(s.st[s.ar[1].p].a);
    if (tb.apply().hit && s.u.isValid()) { s.st.push_front(1); s.t = { same(8w3), { 1, 2 } }; }
    switch (s.ar[0].p) { 1: 2: { s.ar[0] = { ... }; } default: { exit; } }
    for (bit<8> i in 1 .. 4) { s.st[2].a = s.st[2].a + o.get(i); if (i == 3) break; }
    s.st[0].b = (int<8>) (bit<8>) s.t[1].p; s.u.x = (h_t) {#}; s.st[0].a[3:0] = 4w7; s.st[1] = (h_t) {#};
  }
}
control dep(packet_out p, in s_t s) { apply { p.emit(s.st); p.emit(s.u); } }
parser PT<S>(packet_in p, out S s); control CT<S>(inout S s); control DT<S>(packet_out p, in S s);
package Top<S>(PT<S> p, CT<S> c, DT<S> d);
Top(prs(), ctl(), dep()) main;
