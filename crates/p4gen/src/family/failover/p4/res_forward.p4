    // --- ResFwd: destination, what the header says of failures, and the status of the ports ----------

{% include "failover/p4/sends.p4" %}

    @id(ID_ACTION_NO_WAY)
    action no_way() {
        drop_because({{ v.arch.reason }}DROP_BY_ROUTE);
    }

    @id(ID_ACTION_NO_RULE)
    action no_rule() {
        drop_because({{ v.arch.reason }}DROP_NO_ROUTE);
    }
{% if v.tna %}
    // What this text is: a switch tells it with its tables, and `push` holds it against the build's.
    @switchwright("{{ v.title }} for {{ v.architecture }}, {{ v.stamp }}")
{%- endif %}
    @id(ID_TABLE_RES_FORWARD)
    @entry_restriction("
        came_from::mask == 0 || came_from::mask == 511;
{%- if v.trees %}
        tree::mask == 0 || tree::mask == 255;
{%- endif %}
    ")
    table res_forward {
        key = {
            meta.version : exact @id(1) @name("version");
            headers.shim.destination : ternary @id(2) @name("destination");
            meta.came_from : ternary @id(3) @name("came_from");
            meta.port_status : ternary @id(4) @name("port_status");
{%- include "failover/p4/status_high_key.p4" %}
{%- include "failover/p4/label_keys.p4" %}
        }
        actions = {
{%- include "failover/p4/send_choices.p4" %}
            no_way;
            @defaultonly no_rule;
        }
        const default_action = no_rule();
        size = {{ v.sizes.rules }};
    }
