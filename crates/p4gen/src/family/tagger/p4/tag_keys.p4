{%- if !v.split %}
            meta.code     : exact @id(1) @name("tag");
            meta.in_port  : {{ v.port_match }} @id(2) @name("in_port");
            meta.out_port : {{ v.port_match }} @id(3) @name("out_port");
{%- else if v.tna %}
            meta.tag        : exact @id(1) @name("tag");
            meta.in_port    : {{ v.port_match }} @id(2) @name("in_port");
            meta.out_port   : {{ v.port_match }} @id(3) @name("out_port");
            meta.class_bits : ternary @id(4) @name("class");
{%- else %}
            meta.code[{{ v.tag_top }}:0] : exact @id(1) @name("tag");
            meta.in_port   : {{ v.port_match }} @id(2) @name("in_port");
            meta.out_port  : {{ v.port_match }} @id(3) @name("out_port");
            meta.code[{{ v.code_top }}:{{ v.tag_bits }}] : ternary @id(4) @name("class");
{%- endif %}
