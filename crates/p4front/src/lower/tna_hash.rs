//! `Hash.get` of Tofino, as p4c's bf-p4c builds the chip's hash matrices (`mau/hash_function.cpp`,
//! `bf-utils/dynamic_hash`).
//!
//! The data are one number, the last field lowest. The hash of no data is 0.
//!
//! * A CRC is computed over whole bytes: zero bits are put in front. Bit *i* of a result that is
//!   wider than the CRC is bit *i* modulo its width; the bits beyond the width of a `CRCPolynomial`
//!   that is not `extended` are 0.
//! * `RANDOM` is a function of the data that never changes, not a new number for each packet.
//! * `IDENTITY` is the low bits of the data.
//! * The XOR algorithms add up words from the front, the last one filled up with zero bits behind.
//!   Bits beyond the word are 0.

use p4ir::{
    BinaryOp, CRC_PARTS, Const, ExprId, ExprKind, ExternArg, ExternFunction, ExternId, Key,
    KeyKind, Place, Type,
};

use super::Lowerer;
use crate::source::Span;
use crate::types::Ty;

/// What a `Hash` computes.
enum Algorithm {
    Crc {
        /// A member of an enum, or what describes a CRC.
        known_as: ExternArg,
        /// Bits of the remainder.
        width: u32,
        /// Whether wider results repeat it.
        repeats: bool,
    },
    Identity,
    /// The bits of a word.
    Xor(u32),
}

impl Lowerer<'_> {
    /// Emits what `Hash.get` means; false for an algorithm that is not known.
    pub(super) fn hash(
        &mut self,
        id: ExternId,
        args: &[ExternArg],
        place: Option<&Place>,
        span: Span,
    ) -> bool {
        let Some(place) = place else { return true };
        let wanted = self.emitter.ir.place_type(place);
        let Some(Type::Bits { width, .. }) = wanted.map(|ty| &self.emitter.ir.types[ty]) else {
            return false;
        };
        let width = *width;
        let data = match args.first() {
            Some(ExternArg::In(value)) => vec![*value],
            Some(ExternArg::Fields { values, .. }) => values.clone(),
            _ => return false,
        };
        if data.is_empty() {
            let zero = self.number(0, width);
            self.assign_expr(place, zero, span);
            return true;
        }
        let value = match self.hash_algorithm(id) {
            Some(Algorithm::Crc {
                known_as,
                width: own,
                repeats,
            }) => {
                let data = self.whole_bytes(&args[0], data);
                if width <= own {
                    self.crc(place, (known_as, own), data, span);
                    return true;
                }
                let remainder = self.temp(&Ty::bit(own), span);
                self.crc(&remainder, (known_as, own), data, span);
                Some(self.extended(&remainder, own, if repeats { width } else { own }))
            }
            Some(Algorithm::Identity) => self.joined(&data),
            Some(Algorithm::Xor(word)) => self.xor(&data, word, span),
            None => return false,
        };
        let Some(value) = value else { return false };
        let value = self.resize(value, width);
        self.assign_expr(place, value, span);
        true
    }

    fn hash_algorithm(&mut self, id: ExternId) -> Option<Algorithm> {
        let (_, member) = self.emitter.ir.externs[id].args.first()?.clone();
        let crc = |width| Algorithm::Crc {
            known_as: ExternArg::In(member),
            width,
            repeats: true,
        };
        Some(match self.member_of_constant(member)?.as_str() {
            "CRC8" => crc(8),
            "CRC16" => crc(16),
            "CRC32" => crc(32),
            // The function that stands for `RANDOM` has as many bits.
            "CRC64" | "RANDOM" => crc(64),
            "IDENTITY" => Algorithm::Identity,
            "XOR8" => Algorithm::Xor(8),
            "XOR16" => Algorithm::Xor(16),
            "XOR32" => Algorithm::Xor(32),
            "CUSTOM" => {
                let values: Vec<ExprId> = self
                    .described_crc(id)?
                    .into_iter()
                    .map(|(_, e)| e)
                    .collect();
                let coeff = *values.first()?;
                let width = self.expr_width(coeff);
                Algorithm::Crc {
                    known_as: ExternArg::Fields {
                        ty: self.emitter.ir.exprs[coeff].ty,
                        values,
                    },
                    width: (1..=64).contains(&width).then_some(width)?,
                    repeats: self.is_extended(id),
                }
            }
            _ => return None,
        })
    }

    /// The member of an enum that a constant is.
    pub(super) fn member_of_constant(&self, expr: ExprId) -> Option<String> {
        let expr = &self.emitter.ir.exprs[expr];
        let (ExprKind::Const(Const::Enum(member)), Type::Enum { members, .. }) =
            (&expr.kind, &self.emitter.ir.types[expr.ty])
        else {
            return None;
        };
        members.get(*member as usize).cloned()
    }

    /// What describes the CRC of a `Hash` that has a polynomial: [`CRC_PARTS`].
    pub(super) fn described_crc(&self, hash: ExternId) -> Option<Vec<(String, ExprId)>> {
        let poly = self.tna_objects.polynomials.get(&hash)?;
        let args = &self.emitter.ir.externs[*poly].args;
        let part = |name: &str| args.iter().find(|(given, _)| given == name).cloned();
        CRC_PARTS.into_iter().map(part).collect()
    }

    fn is_extended(&self, hash: ExternId) -> bool {
        let poly = self.tna_objects.polynomials.get(&hash);
        let mut args = poly
            .iter()
            .flat_map(|id| &self.emitter.ir.externs[**id].args);
        let extended = args.find(|(name, _)| name == "extended");
        extended.is_some_and(|(_, e)| {
            self.emitter.ir.exprs[*e].kind == ExprKind::Const(Const::Bool(true))
        })
    }

    /// Puts zero bits before the data of a selector's hash, so that they fill whole bytes. The XOR
    /// algorithms fill up behind.
    pub(super) fn fill_selector(&mut self, selector: ExternId, keys: &mut [Key]) {
        let args = &self.emitter.ir.externs[selector].args;
        let algorithm = args
            .iter()
            .find(|(name, _)| name == "algorithm")
            .map(|(_, e)| *e);
        let named = algorithm.and_then(|e| self.member_of_constant(e));
        if named.is_none_or(|name| name.starts_with("XOR")) {
            return;
        }
        let mut data = keys.iter_mut().filter(|key| key.kind == KeyKind::Selector);
        let Some(first) = data.next() else { return };
        let widths = data.map(|key| self.data_width(key.expr));
        let own = self.data_width(first.expr);
        let odd = (widths.sum::<u32>() + own) % 8;
        if odd > 0 && own > 0 {
            first.expr = self.bits(ExprKind::Cast(first.expr), own + 8 - odd);
        }
    }

    /// Data with zero bits in front, so that they fill whole bytes.
    pub(super) fn whole_bytes(&mut self, given: &ExternArg, mut values: Vec<ExprId>) -> ExternArg {
        let widths = values.iter().map(|value| self.data_width(*value));
        let odd = widths.sum::<u32>() % 8;
        let ty = match (given, values.first()) {
            (ExternArg::Fields { ty, .. }, _) => *ty,
            (_, Some(value)) => self.emitter.ir.exprs[*value].ty,
            _ => self.emitter.ir.types.bit(0),
        };
        if odd > 0 {
            values.insert(0, self.number(0, 8 - odd));
        }
        ExternArg::Fields { ty, values }
    }

    /// Bits that a field of hashed data takes.
    fn data_width(&self, value: ExprId) -> u32 {
        match &self.emitter.ir.types[self.emitter.ir.exprs[value].ty] {
            Type::Bits { width, .. } => *width,
            Type::Bool => 1,
            // Neither enums nor errors without a width are data of a hash.
            _ => 0,
        }
    }

    /// Stores the low bits of a CRC of some width.
    fn crc(
        &mut self,
        place: &Place,
        (known_as, width): (ExternArg, u32),
        data: ExternArg,
        span: Span,
    ) {
        // All values of the remainder: `hash` takes the rest of a division.
        let values = num_bigint::BigUint::from(1_u32) << width;
        let ty = self.emitter.ir.types.bit(width + 1);
        let values = self
            .emitter
            .ir
            .add_expr(ExprKind::Const(Const::Bits(values)), ty);
        let call = vec![
            ExternArg::Out(place.clone()),
            known_as,
            ExternArg::In(self.number(0, width)),
            data,
            ExternArg::In(values),
        ];
        self.plain(ExternFunction::Hash, call, span);
    }

    /// A value of `own` bits, repeated until it has `width` bits.
    fn extended(&mut self, place: &Place, own: u32, width: u32) -> ExprId {
        let mut value = self.load_bits(place, own);
        let mut have = own;
        while have < width {
            let more = own.min(width - have);
            let next = self.load_bits(place, own);
            let next = self.resize(next, more);
            have += more;
            value = self.bits(ExprKind::Binary(BinaryOp::Concat, next, value), have);
        }
        value
    }

    /// The exclusive or of the data's words, the last filled up with zeros.
    fn xor(&mut self, data: &[ExprId], word: u32, span: Span) -> Option<ExprId> {
        let all = self.joined(data)?;
        let bits = self.expr_width(all);
        let whole = bits.next_multiple_of(word);
        let mut all = all;
        if whole > bits {
            let zeros = self.number(0, whole - bits);
            all = self.bits(ExprKind::Binary(BinaryOp::Concat, all, zeros), whole);
        }
        let value = self.keep(all, span);
        let mut sum = None;
        for lo in (0..whole).step_by(word as usize) {
            let hi = lo + word - 1;
            let part = self.bits(ExprKind::Slice { value, hi, lo }, word);
            sum = Some(match sum {
                None => part,
                Some(sum) => self.bits(ExprKind::Binary(BinaryOp::BitXor, sum, part), word),
            });
        }
        sum
    }
}
