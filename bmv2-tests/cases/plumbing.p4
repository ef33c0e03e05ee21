// What every case needs and none is about. Include after `headers_t` and `meta_t` are declared.

control NoVerify(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control NoUpdate(inout headers_t hdr, inout meta_t meta) {
    apply { }
}
