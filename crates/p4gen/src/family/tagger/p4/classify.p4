    @id(ID_TABLE_CLASSIFY)
{% include "tagger/p4/tag_restriction.p4" %}
    table classify {
        key = {
{%- include "tagger/p4/tag_keys.p4" %}
        }
        actions = {
            set_priorities;
            lossy;
        }
        const default_action = lossy();
        size = {{ v.sizes.tag_rules }};
    }
