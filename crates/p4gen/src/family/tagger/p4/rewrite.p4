    @id(ID_TABLE_REWRITE)
{% include "tagger/p4/tag_restriction.p4" %}
    table rewrite {
        key = {
{%- include "tagger/p4/tag_keys.p4" %}
        }
        actions = {
            set_tag;
            set_lossy_code;
        }
        const default_action = set_lossy_code();
        size = {{ v.sizes.tag_rules }};
    }
