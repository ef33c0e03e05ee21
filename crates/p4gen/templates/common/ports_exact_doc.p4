// Ports match exactly: one entry for every (tag, in port, out port) that stays lossless.
