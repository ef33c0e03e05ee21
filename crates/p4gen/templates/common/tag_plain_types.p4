// What the carrier holds: the code of a tag. Codes are the plan's choice, not a count of bounces.
typedef bit<{{ code_bits }}> code_t;
typedef code_t tag_t;
const code_t LOSSY_CODE = {{ lossy }};
