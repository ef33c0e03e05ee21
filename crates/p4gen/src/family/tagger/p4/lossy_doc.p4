{% if v.tag.maps -%}
// A packet of traffic class 0 is lossy: both priorities are 0. One that is lossless by some out ports
// and leaves by another has the priority group of its tag, which is chosen before the out port is
// known, and waits in queue 0.
{%- else -%}
// A packet that no rule matches is lossy, last and always: both priorities are 0, it may be dropped,
// it never causes a PAUSE, and it leaves with the lossy tag, so it stays lossy. A packet without a
// carrier is lossy too.
//{%- if v.tag.sets %}
// Ports match as sets: a port is a one-hot bitmap, matched ternary with value 0 on every bit OUTSIDE
// the set. So "port in S" is one TCAM entry whatever the size of S.
{%- else %}
// Ports match exactly: one entry for every (tag, in port, out port) that stays lossless.
{%- endif %}
{%- endif %}
