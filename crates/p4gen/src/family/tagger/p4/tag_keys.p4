{%- if !v.tag.split %}
            meta.code     : exact @id(1) @name("tag");
            meta.in_port  : {{ v.tag.port_match }} @id(2) @name("in_port");
            meta.out_port : {{ v.tag.port_match }} @id(3) @name("out_port");
{%- else if v.tna %}
            meta.tag        : exact @id(1) @name("tag");
            meta.in_port    : {{ v.tag.port_match }} @id(2) @name("in_port");
            meta.out_port   : {{ v.tag.port_match }} @id(3) @name("out_port");
            meta.class_bits : ternary @id(4) @name("class");
{%- else %}
            meta.code[{{ v.tag.tag_top }}:0] : exact @id(1) @name("tag");
            meta.in_port   : {{ v.tag.port_match }} @id(2) @name("in_port");
            meta.out_port  : {{ v.tag.port_match }} @id(3) @name("out_port");
            meta.code[{{ v.tag.code_top }}:{{ v.tag.tag_bits }}] : ternary @id(4) @name("class");
{%- endif %}
{%- if v.tag.versioned %}
            meta.version  : exact @id(5) @name("version");
{%- endif %}
{%- if v.tag.channels %}
            meta.channel  : exact @id(6) @name("channel");
{%- endif %}
