{%- if v.mixed %}
// What the header tells them depends on the destination; `encap` decides. Either the way that the
// packet has come (Plinko): a list of the ports by which it came into the switches so far, the latest
// first, this switch's own included. Or, where `reverse_hops` is {{ v.no_reverse }} and no list is kept, a number in
// `resilience`: for failed links or a route (FCP, MPLS-FRR), or a bit for every tree that has failed
// (EDST, ADST); the tree that the packet is on is told by its input port, or by `tree`.
{%- else if v.reverse %}
// The header tells them by the way that the packet has come (Plinko): a list of the ports by which
// it came into the switches so far, the latest first, this switch's own included.
{%- else if v.trees %}
// The header tells them by a bit in `resilience` for every tree that has failed (EDST, ADST); the
// tree that the packet is on is told by its input port, or by `tree`.
{%- else %}
// The header tells them by a number in `resilience`: for the set of failed links that the packet
// has met (FCP), or for the route that it follows (MPLS-FRR).
{%- endif %}
{%- if v.routes %}
// A rule puts the ports of the whole way into the header (source routes). A switch takes the next one
// off and uses it if that port is up; else the route is void, and its own rules find another.
{%- else %}
// A rule gives one port: every switch on the way has rules (hop by hop).
{%- endif %}
