// A port as `classify` and `rewrite` match it: its number.
typedef port_id_t port_key_t;
