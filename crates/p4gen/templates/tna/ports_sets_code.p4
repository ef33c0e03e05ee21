                        in_port_bit.apply();
                        out_port_bit.apply();
                        // A port outside the bitmap leaves no bit, and a key without a bit would match
                        // every set.
                        if (meta.in_port == 0 || meta.out_port == 0) {
{{ code.set("meta", "LOSSY_CODE", 28) }}
                        }
