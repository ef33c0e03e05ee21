    @id(ID_ACTION_SET_INITIAL_CODE)
    action set_initial_code(@id(1) code_t code) {
{%- let owner = "meta" %}{% let value = "code" %}{% let indent = "        " %}{% include "tagger/p4/set_code.p4" %}
{%- if v.tag.optional %}
        meta.has_carrier = true;
{%- endif %}
    }

    @id(ID_ACTION_SET_EDGE_LOSSY)
    action set_edge_lossy() {
{%- let owner = "meta" %}{% let value = "LOSSY_CODE" %}{% let indent = "        " %}{% include "tagger/p4/set_code.p4" %}
{%- if v.tag.optional %}
        meta.has_carrier = true;
{%- endif %}
    }

    // A packet that a host sent without a carrier: its DSCP picks the class, and so the first tag.
    @id(ID_TABLE_EDGE_CLASS)
    @entry_restriction("dscp != 0")
    table edge_class {
        key = {
            meta.dscp : exact @id(1) @name("dscp");
{%- if v.tag.versioned %}
            meta.version : exact @id(2) @name("version");
{%- endif %}
        }
        actions = {
            set_initial_code;
            @defaultonly set_edge_lossy;
        }
        const default_action = set_edge_lossy();
        size = EDGE_CLASS_SIZE;
    }
