// What the carrier holds: the class ({{ class_bits }} bits) above the code of a tag ({{ tag_bits }} bits). Codes are the
// plan's choice, not a count of bounces. The class never changes, so that every class may have a limit
// of its own.
typedef bit<{{ code_bits }}> code_t;
typedef bit<{{ tag_bits }}> tag_t;
const code_t LOSSY_CODE = {{ lossy }};
