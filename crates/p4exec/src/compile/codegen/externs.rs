//! Calls of v1model's extern functions and methods.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder as _, Value,
    types::{I32, I64},
};
use p4ir::{
    Const, Entity as _, ExprId, ExprKind, ExternArg, ExternCall, ExternCallee, ExternFunction,
    ExternId, ExternMethod, Place, Span, Type,
};

use super::joined::Bits;
use super::place::Spot;
use super::words::{Words, top_mask};
use super::{CONSTANT, FLAGS, Gen, Helper, SUM, Symbol};
use crate::compile::frame::Slot;
use crate::compile::jit::{cells, field, hash_number};
use crate::compile::site::{Algorithm, Call, Payload, Site};
use crate::externs::args::Args;
use crate::externs::hash::{CrcConfig, HashAlgorithm, WideTables, fixed_crc};
use crate::state::{described_crc, hash_algorithm};
use crate::v1model::{DROP_PORT, enum_member};

/// Argument words of a site under construction.
#[derive(Default)]
struct SiteArgs {
    words: Vec<Value>,
    slots: Vec<Slot>,
}

impl SiteArgs {
    fn push(&mut self, value: &[Value], width: u32, varbit: Option<u32>) {
        self.slots.push(Slot {
            word: self.words.len() as u32,
            width,
            varbit,
        });
        self.words.extend_from_slice(value);
    }

    fn push_word(&mut self, value: Value) {
        self.push(&[value], 64, None);
    }
}

/// Whether a call may change, or depend on, what packets change, as far as compiled code makes it
/// without a helper.
const fn changes_state(callee: &ExternCallee) -> bool {
    use ExternFunction as F;
    !matches!(
        callee,
        ExternCallee::Function(F::Hash | F::MarkToDrop | F::LogMsg | F::VerifyChecksum)
    )
}

/// What is added to a sum of parts of 16 bits: at most 32 bits of a word, and how far they are
/// moved up to where they stand in their part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    word: Value,
    /// Bits of the word below them.
    low: u32,
    width: u32,
    up: u32,
}

impl Gen<'_, '_> {
    pub(super) fn extern_call(&mut self, call: &ExternCall, span: Span) {
        if self.unit.looks_ahead && changes_state(&call.callee) {
            self.end_ahead(None);
        }
        match &call.callee {
            ExternCallee::Method(id, method) => self.method(*id, method, call),
            ExternCallee::Function(function) => self.function(function, call, span),
        }
    }

    /// A numeric argument as a word: all ones if it does not fit, 0 if it is not there.
    fn number_arg(&mut self, args: &Args<'_>, index: usize) -> Value {
        match args.expr(index) {
            Some(expr) => self.number(expr),
            None => self.imm(0),
        }
    }

    fn function(&mut self, function: &ExternFunction, call: &ExternCall, span: Span) {
        let args = Args(&call.args);
        match function {
            ExternFunction::Assert | ExternFunction::Assume => self.assertion(&args, span),
            ExternFunction::Clone => self.request(Call::CloneKept, &args, &[1], &[]),
            ExternFunction::Clone3 => self.request(Call::CloneKept, &args, &[1], args.data(2)),
            ExternFunction::ClonePreservingFieldList => {
                self.request(Call::CloneList, &args, &[1, 2], &[])
            }
            ExternFunction::Resubmit => self.request(Call::ResubmitKept, &args, &[], args.data(0)),
            ExternFunction::ResubmitPreservingFieldList => {
                self.request(Call::ResubmitList, &args, &[0], &[])
            }
            ExternFunction::Recirculate => {
                self.request(Call::RecirculateKept, &args, &[], args.data(0))
            }
            ExternFunction::RecirculatePreservingFieldList => {
                self.request(Call::RecirculateList, &args, &[0], &[]);
            }
            ExternFunction::Truncate => self.request(Call::Truncate, &args, &[0], &[]),
            ExternFunction::Digest => self.digest(call, &args),
            ExternFunction::Mirror => self.asking(Call::Mirror, &args, true),
            ExternFunction::ResubmitWith => self.asking(Call::ResubmitWith, &args, false),
            ExternFunction::Hash => self.hash_into(&args),
            ExternFunction::MarkToDrop => self.mark_to_drop(args.place(0)),
            ExternFunction::Random => self.random_into(&args),
            ExternFunction::VerifyChecksum => self.checksum(&args, Payload::Without, false),
            ExternFunction::VerifyChecksumWithPayload => self.checksum(&args, Payload::With, false),
            ExternFunction::UpdateChecksum => self.checksum(&args, Payload::Without, true),
            ExternFunction::UpdateChecksumWithPayload => self.checksum(&args, Payload::With, true),
            // It speaks to tracers only, and traced packets are interpreted.
            ExternFunction::LogMsg => {}
            // Refused when the interpreter was built, which holds the state.
            ExternFunction::Other(_) => {}
        }
    }

    /// Calls out for a site; its answer words, if it has any, and what it returned.
    fn call_site(&mut self, call: Call, args: SiteArgs, out_words: usize) -> (Value, Value) {
        if call.is_request() {
            self.unit.requests += 1;
        }
        let site = self.site(Site::Extern {
            call,
            arg_words: args.words.len(),
            args: args.slots,
            out_words,
        });
        let words = self.spill(&args.words);
        let out = if out_words > 0 {
            self.slot(out_words)
        } else {
            words
        };
        // The payload and the parser's place are the context's.
        self.save_position();
        self.store_parsed();
        let code = self.call_helper(Helper::Extern, &[self.ctx, site, words, out]);
        (code, out)
    }

    fn assertion(&mut self, args: &Args<'_>, span: Span) {
        let holds = self.number_arg(args, 0);
        let (good, bad) = (self.label(), self.label());
        self.branch(holds, good, bad);
        self.bind(bad);
        let file = self.unit.program.files.get(span.file as usize);
        let file = file.map_or("the program", String::as_str);
        let place = format!("{file}:{}:{}", span.line, span.column);
        self.call_site(Call::Assertion(place), SiteArgs::default(), 0);
        self.goto(self.exits.abort);
        self.bind(good);
    }

    /// A request to the switch: numbers, then the leaves that `kept` reads.
    fn request(&mut self, call: Call, args: &Args<'_>, numbers: &[usize], kept: &[ExprId]) {
        let mut words = SiteArgs::default();
        for index in numbers {
            let number = self.number_arg(args, *index);
            words.push_word(number);
        }
        for expr in kept {
            let leaf = self.leaf_read(*expr);
            words.push_word(leaf);
        }
        self.call_site(call, words, 0);
    }

    /// The number of the leaf an expression reads, all ones if it is no leaf.
    fn leaf_read(&mut self, expr: ExprId) -> Value {
        let program = self.unit.program;
        let none = self.imm(-1);
        let ExprKind::Read(place) = &program.exprs[expr].kind else {
            return none;
        };
        if let Some(leaf) = program.layout().place(program, place) {
            return self.imm(i64::from(leaf));
        }
        // An index computed at run time: the layout's steps, with the index as a value.
        let mut ty = program.vars[place.var].ty;
        let mut leaf = self.imm(i64::from(program.layout().base(place.var)));
        for step in &place.path {
            if let (p4ir::Projection::Field(field), Some(fields)) =
                (step, program.types[ty].fields())
            {
                let offset = program.layout().field_offset(ty, *field);
                leaf = self.b.ins().iadd_imm_s(leaf, i64::from(offset));
                ty = fields[*field as usize].ty;
                continue;
            }
            let Type::Stack { element, .. } = program.types[ty] else {
                return none;
            };
            let stride = i64::from(program.layout().leaves_of(element));
            let index = match step {
                p4ir::Projection::DynIndex(index) => self.number(*index),
                p4ir::Projection::Index(index) => self.imm(i64::from(*index)),
                p4ir::Projection::Field(_) => return none,
            };
            let offset = self.b.ins().imul_imm_s(index, stride);
            let sum = self.b.ins().iadd(leaf, offset);
            leaf = self.b.ins().iadd_imm_s(sum, 1);
            ty = element;
        }
        match self.locate(place) {
            Spot::Moving { ok, .. } => self.b.ins().select(ok, leaf, none),
            _ => none,
        }
    }

    /// What a Tofino deparser asks for: a session, if it has one, and a header.
    fn asking(&mut self, call: Call, args: &Args<'_>, session: bool) {
        let mut words = SiteArgs::default();
        if session {
            let session = self.number_arg(args, 0);
            words.push_word(session);
        }
        let data = self.data_args(args.data(usize::from(session)), words);
        self.call_site(call, data, 0);
    }

    fn digest(&mut self, call: &ExternCall, args: &Args<'_>) {
        let program = self.unit.program;
        let aggregate = match call.args.get(1) {
            Some(ExternArg::Fields { ty, .. }) => Some(*ty),
            _ => call.type_args.first().copied(),
        };
        let name = match aggregate.map(|ty| &program.types[ty]) {
            Some(Type::Record { name, .. }) => name.clone(),
            _ => String::new(),
        };
        let data = self.data_args(args.data(1), SiteArgs::default());
        self.call_site(Call::Digest(name), data, 0);
    }

    /// Data as argument words behind those that are there.
    fn data_args(&mut self, data: &[ExprId], mut args: SiteArgs) -> SiteArgs {
        for expr in data {
            let (value, width, varbit) = self.datum(*expr);
            args.push(&value, width, varbit);
        }
        args
    }

    fn datum(&mut self, expr: ExprId) -> (Words, u32, Option<u32>) {
        let ty = self.unit.program.expr_type(expr);
        let varbit = match self.unit.program.types[ty] {
            Type::Varbit { max } => Some(max),
            _ => None,
        };
        (self.eval(expr), self.width(ty), varbit)
    }

    /// `standard_metadata` is the argument, or, in the old form without one, understood.
    fn mark_to_drop(&mut self, place: Option<&Place>) {
        let layout = self.unit.layout;
        let Some(info) = self.unit.info.v1model() else {
            return;
        };
        let [_, _, standard] = info.kept_vars;
        let base = layout.base(standard);
        let moved = match place.map(|p| self.locate(p)) {
            Some(spot @ (Spot::Fixed(_) | Spot::Moving { .. })) => spot,
            _ => Spot::Fixed(base),
        };
        for (leaf, value) in [
            (info.standard.egress_spec, DROP_PORT),
            (info.standard.mcast_grp, 0),
        ] {
            if let Some(leaf) = leaf {
                let spot = self.part(&moved, layout.slot(leaf).word - base);
                let value = self.imm_u(value);
                self.write(&spot, &[value]);
            }
        }
    }

    /// The algorithm of an argument, if it is known now.
    fn algorithm(&self, args: &Args<'_>, index: usize) -> Result<HashAlgorithm, ExprId> {
        let program = self.unit.program;
        if let Some(config) = described_crc(program, args.data(index)) {
            return Ok(HashAlgorithm::Crc(config));
        }
        let Some(expr) = args.expr(index) else {
            return Ok(HashAlgorithm::Crc16);
        };
        match &program.exprs[expr].kind {
            ExprKind::Const(Const::Enum(member)) => {
                let ty = program.expr_type(expr);
                let member = enum_member(program, ty, u64::from(*member));
                Ok(member
                    .and_then(hash_algorithm)
                    .unwrap_or(HashAlgorithm::Crc16))
            }
            _ => Err(expr),
        }
    }

    /// The hash of some data.
    fn hash(
        &mut self,
        algorithm: Result<HashAlgorithm, ExprId>,
        data: &[ExprId],
        payload: Payload,
    ) -> Value {
        let program = self.unit.program;
        let varbit = data.iter().any(|expr| {
            let ty = program.expr_type(*expr);
            matches!(program.types[ty], Type::Varbit { .. })
        });
        let algorithm = match algorithm {
            // Only a site has room for what describes a CRC.
            Ok(HashAlgorithm::Crc(_)) => algorithm,
            Ok(algorithm) if payload == Payload::Without && !varbit => {
                return self.hash_fields(algorithm, data);
            }
            other => other,
        };
        let mut args = SiteArgs::default();
        let algorithm = match algorithm {
            Ok(algorithm) => Algorithm::Known(algorithm),
            Err(expr) => {
                let member = self.number(expr);
                args.push_word(member);
                Algorithm::Member(program.expr_type(expr))
            }
        };
        let args = self.data_args(data, args);
        self.call_site(Call::Hash(algorithm, payload), args, 0).0
    }

    /// The hash of fields of fixed width with a known algorithm.
    fn hash_fields(&mut self, algorithm: HashAlgorithm, data: &[ExprId]) -> Value {
        let mut fields = Vec::new();
        for expr in data {
            let (value, width, _) = self.datum(*expr);
            fields.push((value, width));
        }
        self.hash_of(algorithm, &fields)
    }

    /// The hash of values of some widths laid side by side.
    pub(super) fn hash_of(&mut self, algorithm: HashAlgorithm, fields: &[(Words, u32)]) -> Value {
        if algorithm == HashAlgorithm::Csum16 {
            return self.internet_checksum(fields);
        }
        let bits: u32 = fields.iter().map(|(_, width)| width).sum();
        let words = self.joined(fields);
        if let (Some((tables, config)), true) = (fixed_crc(algorithm), bits > 24) {
            return self.crc((algorithm, tables, config), &words, bits.div_ceil(8));
        }
        if let (HashAlgorithm::Identity, [word, ..]) = (algorithm, &*words) {
            // The first eight bytes as a number.
            return self.shr_imm(*word, 64 - 8 * bits.div_ceil(8).min(8));
        }
        let bytes = self.slot(words.len());
        self.store_joined(&words, bytes);
        let number = self.imm_u(hash_number(algorithm));
        let len = self.imm(i64::from(bits.div_ceil(8)));
        self.call_helper(Helper::Hash, &[self.ctx, number, bytes, len])
    }

    /// A reflected CRC of at least four bytes. A byte's share in the result depends on how many
    /// follow it, and the shares are summed, so all bytes of a chunk are looked up at once.
    fn crc(
        &mut self,
        (algorithm, tables, config): (HashAlgorithm, &'static WideTables, CrcConfig),
        words: &[Value],
        bytes: u32,
    ) -> Value {
        let base = self.address_of(Symbol::Crc(algorithm));
        let ones = |value: u64| value.reverse_bits() >> (64 - config.width);
        let mut rest = self.imm_u(ones(config.initial));
        for start in (0..bytes).step_by(tables.len()) {
            let count = (bytes - start).min(tables.len() as u32);
            // The remainder so far goes into the first four bytes, its low byte first.
            let into = self.b.ins().bswap(rest);
            let mut sum = match count {
                0..4 => {
                    let left = self.shr_imm(rest, 8 * count);
                    Some(self.b.ins().ireduce(I32, left))
                }
                _ => None,
            };
            for byte in 0..count {
                let word = words[((start + byte) / 8) as usize];
                let word = if byte < 4 {
                    self.b.ins().bxor(word, into)
                } else {
                    word
                };
                let index = self.moved(word, 8 * (byte % 8) as i32 - 56, 0xff);
                let offset = self.shl_imm(index, 2);
                let at = self.b.ins().iadd(base, offset);
                let table = (count - 1 - byte) as usize * size_of_val(&tables[0]);
                // Of a table that never changes, a share is loaded where it is added.
                let share = self.b.ins().load(I32, CONSTANT, at, table as i32);
                sum = Some(match sum {
                    Some(sum) => self.b.ins().bxor(sum, share),
                    None => share,
                });
            }
            if let Some(sum) = sum {
                rest = self.b.ins().uextend(I64, sum);
            }
        }
        let end = self.imm_u(config.final_xor);
        self.b.ins().bxor(rest, end)
    }

    /// RFC 1071. The sum of all 16-bit parts modulo 2^16 - 1 does not depend on how they are
    /// grouped, so every field is added as it is, moved to where it stands in its part.
    fn internet_checksum(&mut self, fields: &[(Words, u32)]) -> Value {
        let sum = self.sum_of(fields);
        // A sum and itself with its halves exchanged: what the lower half carries over is what the
        // upper one had too much.
        let turned = self.b.ins().rotl_imm_s(sum, 32);
        let sum = self.b.ins().iadd(sum, turned);
        let sum = self.b.ins().ushr_imm_s(sum, 32);
        let sum = self.b.ins().ireduce(I32, sum);
        let turned = self.b.ins().rotl_imm_s(sum, 16);
        let sum = self.b.ins().iadd(sum, turned);
        let sum = self.b.ins().ushr_imm_s(sum, 16);
        let sum = self.b.ins().uextend(I64, sum);
        let flipped = self.b.ins().bnot(sum);
        self.and_imm(flipped, 0xffff)
    }

    /// The sum of fields, each moved to where it stands in its part of 16 bits: from nothing, or
    /// from the last sum on this way, less what is not in this one.
    fn sum_of(&mut self, fields: &[(Words, u32)]) -> Value {
        let parts = self.parts_of(fields);
        let known = self.cache.get(&SUM).copied();
        let before = known.and_then(|sum| Some((sum, self.sums.get(&sum)?.clone())));
        let (mut sum, mut less, mut more) = (self.imm(0), Vec::new(), parts.clone());
        if let Some((total, before)) = before {
            let mut rest = parts.clone();
            let gone: Vec<_> = before
                .into_iter()
                .filter(|part| match rest.iter().position(|own| own == part) {
                    Some(at) => {
                        rest.swap_remove(at);
                        false
                    }
                    None => true,
                })
                .collect();
            if gone.len() + rest.len() < parts.len() {
                (sum, less, more) = (total, gone, rest);
            }
        }
        for part in less {
            let moved = self.part_moved(part);
            sum = self.b.ins().isub(sum, moved);
        }
        for part in more {
            let moved = self.part_moved(part);
            sum = self.b.ins().iadd(sum, moved);
        }
        self.cache.insert(SUM, sum);
        self.sums.insert(sum, parts);
        sum
    }

    /// What is added to the sum of fields.
    fn parts_of(&self, fields: &[(Words, u32)]) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut end = 0;
        for Bits { words, low, width } in self.coalesced(fields) {
            end += width;
            let up = (16 - end % 16) % 16;
            for (i, word) in words.into_iter().enumerate() {
                let bits = width.saturating_sub(64 * i as u32).min(64);
                // In halves where a whole word could overflow the sum.
                for from in (0..bits).step_by(32) {
                    parts.push(Part {
                        word,
                        low: low + from,
                        width: (bits - from).min(32),
                        up,
                    });
                }
            }
        }
        parts
    }

    /// A part as it is added.
    fn part_moved(&mut self, part: Part) -> Value {
        let by = part.up as i32 - part.low as i32;
        self.moved(part.word, by, top_mask(part.width) << part.up)
    }

    /// `hash(result, algorithm, base, data, max)`: base + hash mod max, a max of 0 counting as 1.
    fn hash_into(&mut self, args: &Args<'_>) {
        let Some(place) = args.place(0) else { return };
        let algorithm = self.algorithm(args, 1);
        let hash = self.hash(algorithm, args.data(3), Payload::Without);
        let known = args.expr(4).map(|expr| &self.unit.program.exprs[expr].kind);
        let power = match known {
            Some(ExprKind::Const(Const::Bits(max))) => {
                u64::try_from(max).ok().filter(|max| max.is_power_of_two())
            }
            _ => None,
        };
        let rest = if let Some(power) = power {
            self.and_imm(hash, power - 1)
        } else if let Some(ExprKind::Const(Const::Bits(max))) = known
            && max.bits() > 64
        {
            hash
        } else {
            let max = self.number_arg(args, 4);
            let one = self.imm(1);
            let max = self.b.ins().umax(max, one);
            self.b.ins().urem(hash, max)
        };
        let base = self.number_arg(args, 2);
        let zero = self.imm(0);
        let value = self.add(&[rest, zero], &[base, zero], 128);
        self.store_scalar(place, &value, 128);
    }

    fn random_into(&mut self, args: &Args<'_>) {
        let (Some(place), Some(low), Some(high)) = (args.place(0), args.expr(1), args.expr(2))
        else {
            return;
        };
        let width = self.width(self.unit.program.expr_type(low));
        let bounds = self.data_args(&[low, high], SiteArgs::default());
        let words = super::words::words(width);
        let (set, out) = self.call_site(Call::Random, bounds, words);
        let done = self.label();
        self.branch_unless(set, done);
        let value = self.load_words(out, words);
        self.store_scalar(place, &value, width);
        self.goto(done);
        self.bind(done);
    }

    /// `update_checksum` and `verify_checksum(condition, data, checksum, algorithm)`.
    fn checksum(&mut self, args: &Args<'_>, payload: Payload, update: bool) {
        let standard = self.unit.info.v1model().map(|info| &info.standard);
        let done = self.label();
        let wanted = self.number_arg(args, 0);
        self.branch_unless(wanted, done);
        let algorithm = self.algorithm(args, 3);
        if let (true, Some(place)) = (update, args.place(2)) {
            let hash = self.hash(algorithm, args.data(1), payload);
            self.store_scalar(place, &[hash], 64);
        } else if let (false, Some(checksum)) = (update, args.expr(2)) {
            let hash = self.hash(algorithm, args.data(1), payload);
            let width = self.width(self.unit.program.expr_type(checksum));
            let given = self.eval(checksum);
            let computed = self.resized(&[hash], 64, width);
            let same = self.equal(&computed, &given);
            if let Some(leaf) = standard.and_then(|fields| fields.checksum_error) {
                let word = self.unit.layout.slot(leaf).word;
                let before = self.load_word(word);
                let differs = self.b.ins().icmp_imm_s(IntCC::Equal, same, 0);
                let differs = self.b.ins().uextend(I64, differs);
                let error = match self.known(before) {
                    Some(0) => differs,
                    _ => self.b.ins().bor(before, differs),
                };
                self.store_word(word, error);
            }
        }
        self.goto(done);
        self.bind(done);
    }

    fn method(&mut self, id: ExternId, method: &ExternMethod, call: &ExternCall) {
        let args = Args(&call.args);
        match method {
            ExternMethod::Count => {
                let index = self.number_arg(&args, 0);
                self.count(id, index);
            }
            ExternMethod::ExecuteMeter => {
                let mut words = SiteArgs::default();
                let index = self.number_arg(&args, 0);
                words.push_word(index);
                let (colour, _) = self.call_site(Call::Meter(id), words, 0);
                if let Some(place) = args.place(1) {
                    let done = self.label();
                    let none = self.b.ins().icmp_imm_s(IntCC::Equal, colour, -1);
                    self.branch_if(none, done);
                    self.store_scalar(place, &[colour], 2);
                    self.goto(done);
                    self.bind(done);
                }
            }
            ExternMethod::ReadDirectMeter => {
                let (colour, _) = self.call_site(Call::Direct(id), SiteArgs::default(), 0);
                if let Some(place) = args.place(0) {
                    self.store_scalar(place, &[colour], 2);
                }
            }
            ExternMethod::EntryCell => {
                let (cell, _) = self.call_site(Call::Direct(id), SiteArgs::default(), 0);
                if let Some(place) = args.place(0) {
                    self.store_scalar(place, &[cell], 32);
                }
            }
            ExternMethod::ReadRegister => self.read_register(id, &args),
            ExternMethod::WriteRegister => {
                let mut words = SiteArgs::default();
                let index = self.number_arg(&args, 0);
                words.push_word(index);
                let words = self.data_args(args.data(1), words);
                self.call_site(Call::RegisterWrite(id), words, 0);
            }
            ExternMethod::GetChecksum16 => {
                let sum = self.hash(Ok(HashAlgorithm::Csum16), args.data(0), Payload::Without);
                if let Some(place) = &call.result {
                    self.store_scalar(place, &[sum], 16);
                }
            }
            // Entries count when their table is applied.
            ExternMethod::CountDirect => {}
            ExternMethod::Other(_) => {}
        }
    }

    /// Counts the packet in a cell; an index out of range counts nothing.
    fn count(&mut self, id: ExternId, index: Value) {
        let counters = self.load_ctx(field::COUNTERS);
        let entry = id.index() * cells::SIZE;
        let (at, count) = ((entry + cells::AT) as i32, (entry + cells::COUNT) as i32);
        // Cells stay where they are while code runs.
        let count = self.b.ins().load(I64, CONSTANT, counters, count);
        let within = self.b.ins().icmp(IntCC::UnsignedLessThan, index, count);
        let done = self.label();
        self.branch_unless(within, done);
        let at = self.b.ins().load(I64, CONSTANT, counters, at);
        let offset = self.b.ins().imul_imm_s(index, cells::CELL as i64);
        let cell = self.b.ins().iadd(at, offset);
        let one = self.imm(1);
        let length = self.load_ctx(field::LENGTH);
        for (more, field) in [(one, cells::PACKETS), (length, cells::BYTES)] {
            let before = self.b.ins().load(I64, FLAGS, cell, field as i32);
            let after = self.b.ins().iadd(before, more);
            self.b.ins().store(FLAGS, after, cell, field as i32);
        }
        self.goto(done);
        self.bind(done);
    }

    fn read_register(&mut self, id: ExternId, args: &Args<'_>) {
        let Some(place) = args.place(0) else { return };
        let ty = self.place_type(place);
        let mut leaves = self.unit.layout.shape(self.unit.program, ty);
        leaves.retain(|(_, kind)| kind.is_data());
        let leaves: Vec<Slot> = leaves.into_iter().map(|(slot, _)| slot).collect();
        let mut words = SiteArgs::default();
        let index = self.number_arg(args, 1);
        words.push_word(index);
        let count = self.type_words(ty);
        let (set, out) = self.call_site(Call::RegisterRead(id, leaves.clone()), words, count);
        let done = self.label();
        self.branch_unless(set, done);
        let value = self.load_words(out, count);
        let spot = self.locate(place);
        for leaf in leaves {
            let first = leaf.word as usize;
            let part = self.part(&spot, leaf.word);
            self.write(&part, &value[first..first + leaf.words() as usize]);
        }
        self.goto(done);
        self.bind(done);
    }
}
