//! Words of the frame as variables of the function of all blocks: what a program stores stays in
//! registers, or is forgotten if nobody reads it. What lies in memory is brought up to date only
//! for those who read it there: helpers, places behind a computed index, and the switch itself
//! where a packet leaves.

use std::ops::Range;

use cranelift_codegen::ir::{InstBuilder as _, Value, types::I64};
use cranelift_frontend::Variable;

use super::{FLAGS, Gen};

/// Frames of more words stay in memory.
pub(super) const MANY_WORDS: u32 = 2048;

/// By word of the frame.
pub(super) struct Registers(Vec<Variable>);

impl Registers {
    fn of(&self, word: u32) -> Option<Variable> {
        self.0.get(word as usize).copied()
    }
}

impl Gen<'_, '_> {
    /// From here on the words of the frame are variables, all zero.
    pub(super) fn use_registers(&mut self) {
        let count = self.unit.layout.zeros;
        let zero = self.imm(0);
        let variables = (0..count).map(|_| {
            let variable = self.b.declare_var(I64);
            self.b.def_var(variable, zero);
            variable
        });
        self.registers = Some(Registers(variables.collect()));
    }

    fn register(&self, word: u32) -> Option<Variable> {
        self.registers.as_ref().and_then(|words| words.of(word))
    }

    pub(super) fn load_word(&mut self, word: u32) -> Value {
        if let Some(known) = self.cache.get(&word) {
            return *known;
        }
        let value = match self.register(word) {
            Some(variable) => self.b.use_var(variable),
            None => self.load_frame(word),
        };
        self.cache.insert(word, value);
        value
    }

    pub(super) fn store_word(&mut self, word: u32, value: Value) {
        let value = match self.known(value) {
            Some(number) => self.imm_u(number),
            None => value,
        };
        if self.cache.get(&word) == Some(&value) {
            return;
        }
        match self.register(word) {
            Some(variable) => self.b.def_var(variable, value),
            None => self.store_frame(word, value),
        }
        self.cache.insert(word, value);
    }

    fn load_frame(&mut self, word: u32) -> Value {
        self.loads += 1;
        self.b.ins().load(I64, FLAGS, self.frame, word as i32 * 8)
    }

    fn store_frame(&mut self, word: u32, value: Value) {
        self.b
            .ins()
            .store(FLAGS, value, self.frame, word as i32 * 8);
    }

    /// Takes over words of the frame that somebody else wrote there.
    pub(super) fn take_over(&mut self, words: Range<u32>) {
        for word in words {
            if let Some(variable) = self.register(word) {
                let value = self.load_frame(word);
                self.b.def_var(variable, value);
                self.cache.insert(word, value);
            }
        }
    }

    /// Brings words of the frame in memory up to date.
    pub(super) fn flush(&mut self, words: Range<u32>) {
        for word in words {
            if self.register(word).is_some() {
                let value = self.load_word(word);
                self.store_frame(word, value);
            }
        }
    }

    /// Words of the frame were changed in memory.
    pub(super) fn forget(&mut self, words: Range<u32>) {
        self.cache.retain(|word, _| !words.contains(word));
        self.take_over(words);
    }
}
