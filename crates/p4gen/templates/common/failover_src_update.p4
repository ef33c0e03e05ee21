

    // --- SrcUpdate: pop the hop that was followed, push the port that the packet came by -----------

{{ACTIONS}}    @id(ID_TABLE_SRC_UPDATE)
    table src_update {
        key = {
            meta.by_route  : exact @id(1) @name("by_route");
            meta.in_fabric : exact @id(2) @name("in_fabric");
        }
        actions = {
{{CHOICES}}            @defaultonly NoAction;
        }
        const entries = {
{{ENTRIES}}        }
        const default_action = NoAction();
    }
