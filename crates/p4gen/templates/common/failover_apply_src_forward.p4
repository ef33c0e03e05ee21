
        if (headers.shim.forward_hops != 0) {
            src_forward.apply();
        }
