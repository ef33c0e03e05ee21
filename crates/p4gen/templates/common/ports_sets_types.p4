// A port as `classify` and `rewrite` match it: bit p stands for port p.
typedef bit<{{ bits }}> port_key_t;
