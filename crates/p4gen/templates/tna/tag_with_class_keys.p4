            meta.tag        : exact @id(1) @name("tag");
            meta.in_port    : {{ port_match }} @id(2) @name("in_port");
            meta.out_port   : {{ port_match }} @id(3) @name("out_port");
            meta.class_bits : ternary @id(4) @name("class");