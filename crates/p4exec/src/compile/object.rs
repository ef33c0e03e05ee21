//! A program as relocatable machine code: what the generator makes and the linker makes callable,
//! in this process or in another.
//!
//! Nothing in an [`Object`] is an address. Calls between its functions, calls of helpers and loads
//! from tables of constants are relocations: a place in the code, and the function or [`Symbol`]
//! whose address belongs there. So one process may generate code, under limits, and another one run
//! it, provided both are the same build of this crate for the same processor.

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable as _};
use cranelift_codegen::{Context, FinalizedRelocTarget, ir};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{
    FuncId, Linkage, Module as _, ModuleReloc, ModuleRelocTarget, default_libcall_names,
};
use p4ir::{Entity as _, TableId, ValidProgram};
use serde::{Deserialize, Serialize};

use super::jit::{self, Helper, Native};
use super::site::Site;
use crate::externs::hash::{HashAlgorithm, fixed_crc};
use crate::state::BuildError;

/// Machine code of a program, not linked yet, with what the executor must know of it; see
/// [`Compiled::link`](super::Compiled::link).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Object {
    /// What the code takes for granted of the build that runs it.
    pub(super) abi: Vec<u32>,
    pub(super) functions: Vec<Function>,
    pub(super) symbols: Vec<Symbol>,
    /// The functions of the blocks, in the order of [`BlockKind`](super::jit::BlockKind).
    pub(super) blocks: Vec<u32>,
    /// The function of all blocks.
    pub(super) whole: Option<u32>,
    /// Whether that function takes a frame that was not cleared.
    pub(super) clears: bool,
    /// The function that goes as far as the first look-up (`codegen/ahead.rs`).
    pub(super) ahead: Option<u32>,
    pub(super) sites: Vec<Site>,
    /// See [`Plan::out_room`](super::plan::Plan).
    pub(super) out_room: Option<usize>,
    /// Tables that are looked up through images.
    pub(super) looked_up: Vec<TableId>,
}

/// One function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Function {
    code: Vec<u8>,
    /// In bytes, a power of two.
    alignment: u32,
    relocations: Vec<Relocation>,
}

/// A place in a function's code where an address belongs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Relocation {
    /// In bytes from the function's start.
    at: u32,
    kind: Kind,
    target: Target,
    addend: i64,
}

/// How an address is written; the kinds that the generator's code has on the processors it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Abs8,
    X86CallPCRel4,
    Arm64Call,
    RiscvCallPlt,
    S390xPLTRel32Dbl,
}

impl Kind {
    const ALL: [(Self, Reloc); 5] = [
        (Self::Abs8, Reloc::Abs8),
        (Self::X86CallPCRel4, Reloc::X86CallPCRel4),
        (Self::Arm64Call, Reloc::Arm64Call),
        (Self::RiscvCallPlt, Reloc::RiscvCallPlt),
        (Self::S390xPLTRel32Dbl, Reloc::S390xPLTRel32Dbl),
    ];

    fn new(reloc: Reloc) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|(_, known)| *known == reloc);
        known.map(|(kind, _)| kind)
    }

    fn reloc(self) -> Reloc {
        let known = Self::ALL.into_iter().find(|(kind, _)| *kind == self);
        known.map_or(Reloc::Abs8, |(_, reloc)| reloc)
    }

    /// Bytes of code that linking changes.
    const fn width(self) -> usize {
        match self {
            Self::Abs8 | Self::RiscvCallPlt => 8,
            Self::X86CallPCRel4 | Self::Arm64Call | Self::S390xPLTRel32Dbl => 4,
        }
    }
}

/// Whose address it is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Target {
    /// A place in [`Object::functions`].
    Function(u32),
    /// A place in [`Object::symbols`].
    Symbol(u32),
}

/// Something of this crate that code refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Symbol {
    /// A function that code calls.
    Helper(Helper),
    /// The tables of a CRC that [`fixed_crc`] has.
    Crc(HashAlgorithm),
}

impl Symbol {
    fn name(self) -> String {
        format!("{self:?}")
    }

    /// Where it is in this process; `None` for a CRC without tables.
    fn address(self) -> Option<*const u8> {
        match self {
            Self::Helper(helper) => Some(helper.address()),
            Self::Crc(algorithm) => fixed_crc(algorithm).map(|(tables, _)| tables.as_ptr().cast()),
        }
    }
}

/// In the names of Cranelift IR: functions of the object, and symbols, by their places in it.
pub(super) const FUNCTIONS: u32 = 0;
pub(super) const SYMBOLS: u32 = 1;

/// The errors of the code generator are ours, not the program's; they are told all the same.
pub(super) fn broken(error: impl std::fmt::Display) -> BuildError {
    BuildError::CodeGenerator(error.to_string())
}

/// How much the code generator does to make code fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// What takes time that grows with the square of a function's blocks is left out.
    Little,
    /// As for all functions but very long ones.
    Usual,
}

/// What code is made for: this machine.
pub(super) fn isa(effort: Effort) -> Result<OwnedTargetIsa, BuildError> {
    let mut flags = settings::builder();
    for (name, value) in [
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        (
            "opt_level",
            match effort {
                Effort::Little => "none",
                Effort::Usual => "speed",
            },
        ),
        // The generator is tested; verifying costs a third of the compile time.
        (
            "enable_verifier",
            if cfg!(debug_assertions) {
                "true"
            } else {
                "false"
            },
        ),
        ("preserve_frame_pointers", "false"),
    ] {
        flags.set(name, value).map_err(broken)?;
    }
    let isa = cranelift_native::builder().map_err(broken)?;
    isa.finish(settings::Flags::new(flags)).map_err(broken)
}

impl Function {
    /// The function that was just compiled in a context.
    pub(super) fn new(context: &Context) -> Result<Self, BuildError> {
        let compiled = context
            .compiled_code()
            .ok_or_else(|| broken("a function was not compiled"))?;
        let names = context.func.params.user_named_funcs();
        let relocations = compiled.buffer.relocs().iter().map(|reloc| {
            let target = match &reloc.target {
                FinalizedRelocTarget::ExternalName(ir::ExternalName::User(name)) => {
                    let name = &names[*name];
                    match name.namespace {
                        FUNCTIONS => Some(Target::Function(name.index)),
                        _ => Some(Target::Symbol(name.index)),
                    }
                }
                _ => None,
            };
            let unknown = || broken(format!("relocation {:?} of {:?}", reloc.kind, reloc.target));
            Ok(Relocation {
                at: reloc.offset,
                kind: Kind::new(reloc.kind).ok_or_else(unknown)?,
                target: target.ok_or_else(unknown)?,
                addend: reloc.addend,
            })
        });
        Ok(Self {
            relocations: relocations.collect::<Result<_, BuildError>>()?,
            code: compiled.code_buffer().to_vec(),
            alignment: compiled.buffer.alignment,
        })
    }
}

impl Object {
    /// Code without anything but functions.
    pub(super) fn new(functions: Vec<Function>, symbols: Vec<Symbol>) -> Self {
        Self {
            abi: jit::ABI.to_vec(),
            functions,
            symbols,
            blocks: Vec::new(),
            whole: None,
            clears: false,
            ahead: None,
            sites: Vec::new(),
            out_room: None,
            looked_up: Vec::new(),
        }
    }

    /// Whether the code can be linked at all, and has so many blocks and no table that the program
    /// has not.
    pub(super) fn check(&self, program: &ValidProgram, blocks: usize) -> Result<(), BuildError> {
        if self.abi != jit::ABI {
            return Err(broken("the code is for another build of Switchwright"));
        }
        let is_function = |index: u32| (index as usize) < self.functions.len();
        let fits = |function: &Function| {
            let inside = |r: &Relocation| r.at as usize + r.kind.width() <= function.code.len();
            let known = |r: &Relocation| match r.target {
                Target::Function(index) => is_function(index),
                Target::Symbol(index) => (index as usize) < self.symbols.len(),
            };
            function.alignment.is_power_of_two()
                && !function.code.is_empty()
                && function.relocations.iter().all(|r| inside(r) && known(r))
        };
        let whole = self.blocks.len() == blocks
            && self
                .blocks
                .iter()
                .chain(&self.whole)
                .chain(&self.ahead)
                .all(|b| is_function(*b))
            && self.functions.iter().all(fits)
            && self.symbols.iter().all(|s| s.address().is_some())
            && self
                .looked_up
                .iter()
                .all(|table| table.index() < program.tables.len());
        whole
            .then_some(())
            .ok_or_else(|| broken("the code is not whole"))
    }

    /// Makes the code callable in this process. It must have been checked.
    pub(super) fn link(&self) -> Result<Native, BuildError> {
        let mut builder = JITBuilder::with_isa(isa(Effort::Usual)?, default_libcall_names());
        for symbol in &self.symbols {
            if let Some(address) = symbol.address() {
                builder.symbol(symbol.name(), address);
            }
        }
        let mut module = JITModule::new(builder);
        let signature = module.make_signature();
        let mut functions: Vec<FuncId> = Vec::with_capacity(self.functions.len());
        for _ in &self.functions {
            let declared = module.declare_anonymous_function(&signature);
            functions.push(declared.map_err(broken)?);
        }
        let mut symbols = Vec::with_capacity(self.symbols.len());
        for symbol in &self.symbols {
            let declared = module.declare_data(&symbol.name(), Linkage::Import, false, false);
            symbols.push(declared.map_err(broken)?);
        }
        for (id, function) in functions.iter().zip(&self.functions) {
            let relocations: Vec<ModuleReloc> = function
                .relocations
                .iter()
                .map(|relocation| ModuleReloc {
                    offset: relocation.at,
                    kind: relocation.kind.reloc(),
                    name: match relocation.target {
                        Target::Function(index) => {
                            ModuleRelocTarget::from(functions[index as usize])
                        }
                        Target::Symbol(index) => ModuleRelocTarget::from(symbols[index as usize]),
                    },
                    addend: relocation.addend,
                })
                .collect();
            let alignment = u64::from(function.alignment);
            module
                .define_function_bytes(*id, alignment, &function.code, &relocations)
                .map_err(broken)?;
        }
        module.finalize_definitions().map_err(broken)?;
        let address = |index: &u32| module.get_finalized_function(functions[*index as usize]);
        let blocks = self.blocks.iter().map(address).collect();
        let whole = self.whole.as_ref().map(address);
        let ahead = self.ahead.as_ref().map(address);
        Ok(Native::new(module, blocks, whole, ahead))
    }
}
