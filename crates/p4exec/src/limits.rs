//! How much machine code a program may come to: [`BuildError`](crate::BuildError) names these limits with and without feature `jit`.

/// Instructions of Cranelift's IR that a program may come to.
pub const MAX_INSTRUCTIONS: usize = 1 << 21;

/// Bytes of stack that compiled code may take, helpers left out.
pub const MAX_STACK_BYTES: u64 = 1 << 19;
