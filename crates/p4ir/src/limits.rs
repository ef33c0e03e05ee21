//! Bounds on what a program may be. A few lines of P4 can ask for more than any machine has (types,
//! instances and calls that double at every level), so the front end looks at these before it makes
//! something, and [`crate::validate`] holds every program to them, wherever it came from.
//! `docs/language.md` lists them for users.

use std::fmt;

/// A bound, named by what it bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Words of 64 bits that a value of one type takes: one per scalar, more for those beyond 64
    /// bits, one for the validity of a header and for the counter of a stack. A type without
    /// anything in it counts as one.
    TypeWords,
    /// Words of all parameters, variables and temporaries together.
    StorageWords,
    /// Types inside each other.
    TypeDepth,
    /// Parsers, controls and functions, each counted for each instance and each set of type
    /// arguments.
    Instances,
    /// Expressions and statements of the whole program, with the components of its constants.
    Nodes,
    /// Statements and calls inside each other, from the block of the pipeline inwards.
    Depth,
    /// Operations inside each other in one expression.
    Height,
    /// Steps of one pass through a block of the pipeline: see [`crate::validate`].
    Steps,
    /// Bytes of a name as the control plane sees it.
    NameBytes,
}

/// Bits of the widest type, and the longest shift of an `int` by a distance known when the program
/// is compiled: keeps a hostile program from asking for gigabytes.
pub const MAX_BITS: u32 = 65_536;

/// Elements of the longest array of counters, meters or registers: each costs memory as soon as the
/// program runs.
pub const MAX_ELEMENTS: u64 = 1 << 26;

impl Limit {
    /// The most that is accepted.
    pub const fn most(self) -> u64 {
        match self {
            Limit::TypeWords => 1 << 15,
            Limit::StorageWords => 1 << 20,
            Limit::TypeDepth => 200,
            Limit::Instances => 10_000,
            Limit::Nodes => 1 << 21,
            Limit::Depth => 300,
            Limit::Height => 300,
            Limit::Steps => 1 << 20,
            Limit::NameBytes => 1024,
        }
    }

    /// What is bounded, as the errors say it.
    pub const fn what(self) -> &'static str {
        match self {
            Limit::TypeWords => "words of storage for a value of one type",
            Limit::StorageWords => "words of storage for all variables",
            Limit::TypeDepth => "types inside each other",
            Limit::Instances => "instances of parsers, controls and functions",
            Limit::Nodes => "expressions and statements",
            Limit::Depth => "statements and calls inside each other",
            Limit::Height => "operations inside each other",
            Limit::Steps => "steps per packet",
            Limit::NameBytes => "bytes of a control-plane name",
        }
    }

    /// An error unless `need` is within the bound.
    ///
    /// # Errors
    /// [`Exceeded`].
    pub const fn check(self, need: u64) -> Result<(), Exceeded> {
        if need > self.most() {
            return Err(Exceeded { limit: self, need });
        }
        Ok(())
    }
}

/// A bound that a program exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Exceeded {
    /// The bound.
    pub limit: Limit,
    /// What the program asks for; [`u64::MAX`] where it is more than can be counted.
    pub need: u64,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this needs ")?;
        match self.need {
            u64::MAX => write!(f, "more than 2^63")?,
            need if need >> 32 > 0 => write!(f, "about 2^{}", need.ilog2())?,
            need => write!(f, "{need}")?,
        }
        write!(
            f,
            " {}; the limit is {}",
            self.limit.what(),
            self.limit.most()
        )
    }
}

/// Loop rounds and states of cyclic parsers that one pass through a block of the pipeline may
/// spend.
pub const ROUNDS: u64 = 1 << 16;

/// Steps that one round stands for: a round, or a state, that takes more spends as many rounds as
/// it takes.
pub const STEPS_PER_ROUND: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_need_and_limit() {
        let error = Limit::TypeWords.check(1 << 49).expect_err("too many");
        assert_eq!(
            error.to_string(),
            "this needs about 2^49 words of storage for a value of one type; the limit is 32768"
        );
        assert!(Limit::TypeWords.check(1 << 15).is_ok());
        let endless = Limit::Steps.check(u64::MAX).expect_err("too many");
        assert_eq!(
            endless.to_string(),
            "this needs more than 2^63 steps per packet; the limit is 1048576"
        );
    }
}
