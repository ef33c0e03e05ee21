{%- if v.shim %}
                    if (meta.from_host) {
                        edge_class.apply();
                        push_shim();
                    }
{%- else if v.vlan %}
                    if (meta.from_host && !meta.has_carrier) {
                        edge_class.apply();
                        push_vlan();
                    }
{%- endif %}
