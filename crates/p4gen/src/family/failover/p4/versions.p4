// Versions: ingress at the edge stamps a packet with a version, and every table that forwards matches
// it. A new plan is installed beside the old one, then the stamps change (`island_in`), then the old
// one is removed: no packet sees a mixture.
//
// A header that lies is dropped and counted, never forwarded: counts beyond the stack of {{ v.stack }} hops or
// beyond the packet, a hop that names no port towards a switch, a version without entries. A hop limit
// of {{ v.most_switches }} switches ends what would circle.
