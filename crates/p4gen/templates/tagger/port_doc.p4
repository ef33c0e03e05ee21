{%- if v.sets %}
// Ports match as sets: a port is a one-hot bitmap, matched ternary with value 0 on every bit OUTSIDE
// the set. So "port in S" is one TCAM entry whatever the size of S.
{%- else %}
// Ports match exactly: one entry for every (tag, in port, out port) that stays lossless.
{%- endif %}
