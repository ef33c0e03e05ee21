//! What a program may cost: machine code, and passes through the switch.

use p4ir::ValidProgram;

/// Instructions of Cranelift's IR that a program may come to.
pub const MAX_INSTRUCTIONS: usize = 1 << 21;

/// Bytes of stack that compiled code may take, helpers left out.
pub const MAX_STACK_BYTES: u64 = 1 << 19;

/// Passes through ingress and egress that one received packet may cause.
pub const MAX_PASSES: u32 = 4096;

/// Steps of blocks that all passes of one received packet may come to, loops counted once.
const PACKET_STEPS: u64 = 1 << 26;

/// Passes that are always granted.
const LEAST_PASSES: u32 = 64;

/// Passes that one packet of a program may cause: the fewer the dearer its blocks are.
pub(crate) fn passes(program: &ValidProgram) -> u32 {
    let affordable = PACKET_STEPS / program.steps().max(1);
    let affordable = u32::try_from(affordable).unwrap_or(MAX_PASSES);
    affordable.clamp(LEAST_PASSES, MAX_PASSES)
}
