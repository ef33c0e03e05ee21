//! Calls of v1model's extern functions and methods, and of what those of Tofino become.

use p4ir::{
    Const, ExprId, ExprKind, ExternArg, ExternCall, ExternCallee, ExternFunction, ExternId,
    ExternMethod, Place, Span, Type, TypeId,
};

use super::machine::{Flow, Machine};
use crate::bitio::BitWriter;
use crate::exec::DropReason;
use crate::externs::args::Args;
use crate::externs::digest::Digest;
use crate::externs::hash::HashAlgorithm;
use crate::externs::meter::Colour;
use crate::state::{ExternState, described_crc, hash_algorithm};
use crate::trace::TraceEvent;
use crate::v1model::{DROP_PORT, enum_member, scalar_width};
use crate::value::Bits;

impl Machine<'_> {
    pub(super) fn call_extern(&mut self, call: &ExternCall, span: Span) -> Flow {
        match &call.callee {
            ExternCallee::Method(id, method) => {
                self.call_method(*id, method, call);
                Flow::Next
            }
            ExternCallee::Function(function) => self.call_function(function, call, span),
        }
    }

    fn number(&self, args: &Args<'_>, index: usize) -> u64 {
        args.expr(index)
            .map_or(0, |expr| self.eval(expr).to_u64().unwrap_or(u64::MAX))
    }

    fn index(&self, args: &Args<'_>, index: usize) -> usize {
        usize::try_from(self.number(args, index)).unwrap_or(usize::MAX)
    }

    fn call_function(&mut self, function: &ExternFunction, call: &ExternCall, span: Span) -> Flow {
        let args = Args(&call.args);
        match function {
            ExternFunction::Assert | ExternFunction::Assume => {
                return self.check_assertion(&args, span);
            }
            ExternFunction::Clone => self.request_clone(&args, Vec::new()),
            ExternFunction::Clone3 => {
                let kept = self.places_read(args.data(2));
                self.request_clone(&args, kept);
            }
            ExternFunction::ClonePreservingFieldList => {
                let kept = self.field_list(&args, 2);
                self.request_clone(&args, kept);
            }
            ExternFunction::Resubmit => {
                self.requests.resubmit = Some(self.places_read(args.data(0)))
            }
            ExternFunction::ResubmitPreservingFieldList => {
                self.requests.resubmit = Some(self.field_list(&args, 0));
            }
            ExternFunction::Recirculate => {
                self.requests.recirculate = Some(self.places_read(args.data(0)))
            }
            ExternFunction::RecirculatePreservingFieldList => {
                self.requests.recirculate = Some(self.field_list(&args, 0));
            }
            ExternFunction::Truncate => self.requests.truncate_to(self.index(&args, 0)),
            ExternFunction::Digest => self.digest(call, &args),
            ExternFunction::Mirror => {
                let (session, header) =
                    (self.number(&args, 0), self.data_bytes(args.data(1), false));
                self.requests.mirrors.push((session as u32, header));
            }
            ExternFunction::ResubmitWith => {
                self.requests.resubmit_with = Some(self.data_bytes(args.data(0), false));
            }
            ExternFunction::Hash => self.hash_into(&args),
            ExternFunction::LogMsg => self.log(&args),
            ExternFunction::MarkToDrop => self.mark_to_drop(args.place(0)),
            ExternFunction::Random => self.random_into(&args),
            ExternFunction::VerifyChecksum => self.verify_checksum(&args, false),
            ExternFunction::VerifyChecksumWithPayload => self.verify_checksum(&args, true),
            ExternFunction::UpdateChecksum => self.update_checksum(&args, false),
            ExternFunction::UpdateChecksumWithPayload => self.update_checksum(&args, true),
            // Refused when the interpreter was built.
            ExternFunction::Other(_) => {}
        }
        Flow::Next
    }

    fn check_assertion(&self, args: &Args<'_>, span: Span) -> Flow {
        if self.number(args, 0) != 0 {
            return Flow::Next;
        }
        let file = self.program.files.get(span.file as usize);
        let file = file.map_or("the program", String::as_str);
        let place = format!("{file}:{}:{}", span.line, span.column);
        Flow::Abort(DropReason::Assertion(place))
    }

    fn request_clone(&mut self, args: &Args<'_>, kept: Vec<usize>) {
        self.requests.clone = Some((self.number(args, 1) as u32, kept));
    }

    /// The leaves a deprecated data argument reads: `clone3` and its like keep those fields.
    fn places_read(&self, data: &[ExprId]) -> Vec<usize> {
        let Some(info) = self.info.v1model() else {
            return Vec::new();
        };
        let outlives =
            |leaf: &usize| info.metadata.contains(leaf) || info.standard_metadata.contains(leaf);
        data.iter()
            .filter_map(|expr| match &self.program.exprs[*expr].kind {
                ExprKind::Read(place) => self.locate(place).map(|at| at.leaf),
                _ => None,
            })
            .filter(outlives)
            .collect()
    }

    fn field_list(&self, args: &Args<'_>, index: usize) -> Vec<usize> {
        let list = self.number(args, index);
        let info = self.info.v1model();
        let list = info.and_then(|info| info.field_lists.get(&list));
        list.cloned().unwrap_or_default()
    }

    /// `standard_metadata` is the argument, or, in the old form without one, understood.
    fn mark_to_drop(&mut self, place: Option<&Place>) {
        let Some(info) = self.info.v1model() else {
            return;
        };
        let base = info.standard_metadata.start;
        let moved = place
            .and_then(|p| self.locate(p))
            .map_or(base, |at| at.leaf);
        let standard = &info.standard;
        for (leaf, value) in [(standard.egress_spec, DROP_PORT), (standard.mcast_grp, 0)] {
            if let Some(leaf) = leaf {
                let leaf = leaf - base + moved;
                self.storage[leaf] = Bits::from_u64(self.storage[leaf].width(), value);
            }
        }
    }

    /// Evaluates data and lays its bits side by side, with the payload behind it if asked.
    fn data_bytes(&self, data: &[ExprId], with_payload: bool) -> Vec<u8> {
        let mut writer = BitWriter::new();
        for expr in data {
            writer.push(&self.eval(*expr));
        }
        if with_payload {
            self.append_payload(&mut writer);
        }
        writer.into_bytes()
    }

    fn algorithm(&self, args: &Args<'_>, index: usize) -> HashAlgorithm {
        if let Some(config) = described_crc(self.program, args.data(index)) {
            return HashAlgorithm::Crc(config);
        }
        let named = args.expr(index).and_then(|expr| {
            let ty = self.program.expr_type(expr);
            enum_member(self.program, ty, self.eval(expr).low_u64())
        });
        named
            .and_then(hash_algorithm)
            .unwrap_or(HashAlgorithm::Crc16)
    }

    /// `hash(result, algorithm, base, data, max)`: base + hash mod max, a max of 0 counting as 1.
    fn hash_into(&mut self, args: &Args<'_>) {
        let Some(place) = args.place(0) else { return };
        let algorithm = self.algorithm(args, 1);
        let base = self.number(args, 2);
        let data = self.data_bytes(args.data(3), false);
        let max = args.expr(4).map(|max| &self.program.exprs[max].kind);
        let hash = self.hash(algorithm, &data);
        let rest = match max {
            Some(ExprKind::Const(Const::Bits(max))) if max.bits() > 64 => hash,
            _ => hash % self.number(args, 4).max(1),
        };
        let value = u128::from(rest) + u128::from(base);
        self.store_place(place, Bits::from_u128(128, value));
    }

    fn random_into(&mut self, args: &Args<'_>) {
        let (Some(place), Some(low), Some(high)) = (args.place(0), args.expr(1), args.expr(2))
        else {
            return;
        };
        let (low, high) = (self.eval(low), self.eval(high));
        if let Some(value) = self.state.data.random.between(&low, &high) {
            self.store_place(place, value);
        }
    }

    fn verify_checksum(&mut self, args: &Args<'_>, with_payload: bool) {
        let Some(checksum) = args.expr(2) else { return };
        if self.number(args, 0) == 0 {
            return;
        }
        let algorithm = self.algorithm(args, 3);
        let data = self.data_bytes(args.data(1), with_payload);
        let given = self.eval(checksum);
        let computed = Bits::from_u64(given.width(), self.hash(algorithm, &data));
        if computed != given
            && let Some(info) = self.info.v1model()
            && let Some(leaf) = info.standard.checksum_error
        {
            self.storage[leaf] = Bits::from_bool(true);
        }
    }

    fn update_checksum(&mut self, args: &Args<'_>, with_payload: bool) {
        let Some(place) = args.place(2) else { return };
        if self.number(args, 0) == 0 {
            return;
        }
        let algorithm = self.algorithm(args, 3);
        let data = self.data_bytes(args.data(1), with_payload);
        let hash = self.hash(algorithm, &data);
        self.store_place(place, Bits::from_u64(64, hash));
    }

    fn digest(&mut self, call: &ExternCall, args: &Args<'_>) {
        let aggregate = match call.args.get(1) {
            Some(ExternArg::Fields { ty, .. }) => Some(*ty),
            _ => call.type_args.first().copied(),
        };
        let name = aggregate.map_or_else(String::new, |ty| self.type_name(ty));
        let fields = args.data(1).iter().map(|expr| self.eval(*expr)).collect();
        self.requests.digests.push(Digest { name, fields });
    }

    fn type_name(&self, ty: TypeId) -> String {
        match &self.program.types[ty] {
            Type::Record { name, .. } => name.clone(),
            _ => String::new(),
        }
    }

    /// `log_msg("a {} b {}", {x, y})`.
    fn log(&mut self, args: &Args<'_>) {
        if self.tracer.is_none() {
            return;
        }
        let format = match args.expr(0).map(|expr| &self.program.exprs[expr].kind) {
            Some(ExprKind::Const(Const::Str(text))) => text.clone(),
            _ => String::new(),
        };
        let mut values = args.data(1).iter().map(|expr| self.eval(*expr));
        let mut pieces = format.split("{}");
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            match values.next().map(|v| v.to_biguint().to_string()) {
                Some(value) => text.push_str(&value),
                None => text.push_str("{}"),
            }
            text.push_str(piece);
        }
        self.trace(|| TraceEvent::Log(text));
    }

    fn call_method(&mut self, id: ExternId, method: &ExternMethod, call: &ExternCall) {
        let args = Args(&call.args);
        match method {
            ExternMethod::Count => {
                let (index, length) = (self.index(&args, 0), self.length);
                if let Some(ExternState::Counter(counter)) = self.state.data.extern_mut(id) {
                    counter.count(index, length);
                }
            }
            ExternMethod::ExecuteMeter => {
                let (index, now, length) = (self.index(&args, 0), self.now, self.length);
                if let Some(ExternState::Meter(meter)) = self.state.data.extern_mut(id)
                    && let Some(colour) = meter.execute(index, now, length)
                    && let Some(place) = args.place(1)
                {
                    self.store_place(place, colour_bits(colour));
                }
            }
            ExternMethod::ReadDirectMeter => {
                // Green is 0.
                if let Some(place) = args.place(0) {
                    let colour = Bits::from_u64(2, self.direct_said(id));
                    self.store_place(place, colour);
                }
            }
            ExternMethod::EntryCell => {
                if let Some(place) = args.place(0) {
                    let cell = Bits::from_u64(32, self.direct_said(id));
                    self.store_place(place, cell);
                }
            }
            ExternMethod::ReadRegister => {
                let index = self.index(&args, 1);
                let value = match self.state.extern_state(id) {
                    Some(ExternState::Register(register)) => register.read(index).cloned(),
                    _ => None,
                };
                if let (Some(value), Some(place)) = (value, args.place(0)) {
                    self.store_leaves(place, &value);
                }
            }
            ExternMethod::WriteRegister => {
                let index = self.index(&args, 0);
                let value = args.data(1).iter().fold(Bits::zero(0), |joined, expr| {
                    joined.concat(&self.eval(*expr))
                });
                if let Some(ExternState::Register(register)) = self.state.data.extern_mut(id) {
                    register.write(index, &value);
                }
            }
            ExternMethod::GetChecksum16 => {
                let data = self.data_bytes(args.data(0), false);
                let sum = self.hash(HashAlgorithm::Csum16, &data);
                if let Some(place) = &call.result {
                    self.store_place(place, Bits::from_u64(16, sum));
                }
            }
            // Entries count when their table is applied.
            ExternMethod::CountDirect => {}
            ExternMethod::Other(_) => {}
        }
    }

    fn direct_said(&self, id: ExternId) -> u64 {
        let known = self.direct.iter().find(|(known, _)| *known == id);
        known.map_or(0, |(_, said)| *said)
    }

    /// Stores a bit string over all fields of a place, the first taking the highest bits.
    fn store_leaves(&mut self, place: &Place, value: &Bits) {
        let Some(at) = self.locate(place) else { return };
        if self.program.types[at.ty].is_scalar() {
            let width = scalar_width(self.program, at.ty);
            return self.store(at, value.resize_unsigned(width));
        }
        let mut rest = value.width();
        for leaf in at.leaf..at.leaf + self.leaves_of(at.ty) {
            if !self.program.layout().leaves()[leaf].kind.is_data() {
                continue;
            }
            let width = self.storage[leaf].width();
            let low = rest.saturating_sub(width);
            self.storage[leaf] = value.shr_unsigned(low).resize_unsigned(width);
            rest = low;
        }
    }
}

fn colour_bits(colour: Colour) -> Bits {
    Bits::from_u64(2, colour as u64)
}
