    action push_shim(bit<16> destination{% if !v.tna %}, bit<8> path{% endif %}{% if v.mixed %}, bit<8> reverse_hops{% endif %}) {
        headers.shim.setValid();
        headers.shim.version = meta.version;
        headers.shim.multipath = {% if v.tna %}0{% else %}path{% endif %};
        headers.shim.destination = destination;
        headers.shim.resilience = 0;
        headers.shim.lossless_tag = 0;
        headers.shim.tree = 0;
        headers.shim.hop_limit = MOST_SWITCHES{% if v.tna %} - 1;      // this one is the first{% else %};{% endif %}
        headers.shim.forward_hops = 0;
        headers.shim.reverse_hops = {% if v.mixed %}reverse_hops{% else %}0{% endif %};
        headers.shim.ether_type = headers.ethernet.ether_type;
        headers.ethernet.ether_type = ETHERTYPE_SHIM;
    }
