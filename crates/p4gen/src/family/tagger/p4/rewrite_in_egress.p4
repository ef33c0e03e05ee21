    // --- Tagger: (arriving tag, in port, out port) -> new tag --------------------------------------

    @id(ID_ACTION_SET_TAG)
    action set_tag(@id(1) tag_t tag) {
        meta.code{% if v.tag.split %}[{{ v.tag.tag_top }}:0]{% endif %} = tag;
    }

    @id(ID_ACTION_SET_LOSSY_CODE)
    action set_lossy_code() {
        meta.code = LOSSY_CODE;
    }

{% include "tagger/p4/rewrite.p4" %}
