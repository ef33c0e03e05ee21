    // --- Tagger: (arriving tag, in port, out port) -> both priorities ------------------------------

    @id(ID_ACTION_SET_PRIORITIES)
    action set_priorities(@id(1) priority_t ing_prio, @id(2) priority_t eg_prio) {
        meta.ing_prio = ing_prio;
{%- if v.tna %}
        for_tm.ingress_cos = ing_prio;
        for_tm.qid = (QueueId_t)eg_prio;
{%- else %}
        meta.eg_prio = eg_prio;
{%- endif %}
    }

    @id(ID_ACTION_LOSSY)
    action lossy() {
{%- if v.tna %}
        for_tm.ingress_cos = LOSSY_PRIORITY;
        for_tm.qid = (QueueId_t)LOSSY_PRIORITY;
{%- else %}
        meta.ing_prio = LOSSY_PRIORITY;
        meta.eg_prio = LOSSY_PRIORITY;
{%- endif %}
    }
