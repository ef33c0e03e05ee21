{%- if v.reverse %}

    // The reverse route, this switch's port first; places beyond its end are zero.
    bit<8>       reverse_hops;
{%- if v.mixed %}
    bit<1>       keeps_way;        // it comes from a switch, and its reverse route grows
{%- endif %}
{%- for hop in 0..v.stack %}
    bit<8>       rev_{{ hop }};
{%- endfor %}
{%- endif %}
