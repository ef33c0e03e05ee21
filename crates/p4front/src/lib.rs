//! P4_16 front end: preprocess, lex, parse, resolve, type, lower to p4ir; P4Info.
