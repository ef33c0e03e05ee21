@a @b(x, (y)) @c[1, "t", true] @d[k = 1, l = "m"]
extern E<T> { E(T t); @optional abstract bit<8> f<U>(in U u, inout T t); void g(out bit<4> x = 1); }
extern void fun<T>(in T t, @optional bool b);
error { A, B }
match_kind { mine }
enum e1 { x, y }
enum bit<4> e2 { x = 1, y = 4w2 + 3 }
typedef bit<(4 + 4)> byte;
type bit<9> port;
struct s<T> { T[3] a; tuple<bit<8>, bool> b; list<int<4>> c; varbit<32> d; }
header_union hu { h1 a; h1 b; }
header h1 { byte x; }
parser P(packet_in p, out hu u)(bool b) {
  value_set<byte>(4) vs;
  state start { byte v = 1; transition select(v, 1 ++ v) { (1 &&& 3, _): next; (2 .. 3, default): accept; vs: reject; } }
  @x state next { if (true) { v = 2; } else v[3:0] = 4; transition accept; }
}
control C<T>(inout T t, in byte a) {
  action act(in byte x, byte y) { exit; }
  table t1 { key = { a + 1: exact @name("k"); } actions = { act(a); @defaultonly .NoAction; } const default_action = act(a, 2);
    entries = { const priority = 3: (1, 2 &&& 3) : act(a, 4) @z; } size = 16; @n prop = { 1 }; }
  E<bit<8>>(1) o = { void f(in byte u) { return; } };
  apply {
    switch (t1.apply().action_run) { act: .NoAction: { return; } default: {} }
    for (byte i = 0, byte j = 1; i < 4; i += 1, j <<= 2) { if (i == j) continue; else break; }
    for (byte i in 1 .. 5) { o.f<byte>(u = i, t = (e2) 3); }
    a = (byte) -~!b ? { x = 1, ... } : (s<byte>) {#};
    a |+|= b |-| c >> 2 >= 3 && d || e == f & g ^ h | i;
    C<_>.apply(t, a[7:4] ++ a[0 +: 4]);
  }
}
byte fn<T>(in T x) { const int y = 1; return (byte) y / 2 % 3; }
package pk<T>(C<T> c, E<T> e = E(1));
pk(C(), e = E<byte>(2)) main;
