
    @id(ID_ACTION_SET_INITIAL_CODE)
    action set_initial_code(@id(1) code_t code) {
{%- let owner = "meta" %}{% let value = "code" %}{% let indent = "        " %}{% include "tagger/set_code.p4" %}
        meta.has_carrier = true;
    }

    @id(ID_ACTION_SET_EDGE_LOSSY)
    action set_edge_lossy() {
{%- let owner = "meta" %}{% let value = "LOSSY_CODE" %}{% let indent = "        " %}{% include "tagger/set_code.p4" %}
        meta.has_carrier = true;
    }

    // A packet that a host sent without a carrier: its DSCP picks the class, and so the first tag.
    @id(ID_TABLE_EDGE_CLASS)
    @entry_restriction("dscp != 0")
    table edge_class {
        key = {
            meta.dscp : exact @id(1) @name("dscp");
        }
        actions = {
            set_initial_code;
            @defaultonly set_edge_lossy;
        }
        const default_action = set_edge_lossy();
        size = EDGE_CLASS_SIZE;
    }

