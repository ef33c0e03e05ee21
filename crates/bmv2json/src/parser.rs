//! The parser: states, their operations and transitions.

use std::collections::BTreeMap;

use num_bigint::{BigInt, BigUint};
use num_traits::ToPrimitive as _;
use p4ir::{
    BinaryOp, Const, Entity as _, ExprId, ExprKind, Field, KeyKind, KeySet, MatchKind, Parser,
    Place, Projection, RecordKind, SelectCase, SelectMatch, State, StateId, StmtKind, Target,
    Transition, Type, ValueSetField, ValueSetId, VarKind,
};

use crate::data::Reader;
use crate::error::Read;
use crate::expr::{Num, wrap};
use crate::model::{self, Arg, Primitive, hex};

/// `error.ParserInvalidArgument`.
const INVALID_ARGUMENT: u32 = 6;

impl Reader<'_> {
    /// The parser and the `p` argument of the package.
    pub(crate) fn parser(&mut self) -> Read<()> {
        let json = self.json;
        let parser = match &json.parsers[..] {
            [p] => p,
            list => {
                self.context = "parsers".into();
                return Err(self.unsupported(format!("a program with {} parsers", list.len())));
            }
        };
        let first = self.program.states.len();
        let ids: BTreeMap<&str, StateId> = parser
            .parse_states
            .iter()
            .enumerate()
            .map(|(i, s)| (s.name.as_str(), StateId::new(first + i)))
            .collect();
        self.in_parser = true;
        for s in &parser.parse_states {
            self.context = format!("parser state `{}`", s.name);
            let state = self.state(s, &ids)?;
            self.program.states.push(state);
        }
        self.in_parser = false;
        self.context = format!("parser `{}`", parser.name);
        let start = ids.get(parser.init_state.as_str()).copied();
        let start = start.ok_or_else(|| self.unknown("state", parser.init_state.as_str()))?;
        let headers = Place::var(self.blocks[0]);
        let init = self.block(|r| {
            r.emit(StmtKind::Reset(headers));
            Ok(())
        })?;
        let id = self.program.parsers.push(Parser {
            name: parser.name.clone(),
            type_name: parser.name.clone(),
            params: self.shared_params(3),
            init,
            start,
            states: (0..parser.parse_states.len())
                .map(|i| StateId::new(first + i))
                .collect(),
            value_sets: self.value_sets.values().copied().collect(),
            subparsers: Vec::new(),
            span: self.span,
        });
        self.program.main.args.push(p4ir::PackageArg {
            name: "p".into(),
            value: p4ir::ArgValue::Parser(id),
        });
        Ok(())
    }

    fn state(&mut self, s: &model::State, ids: &BTreeMap<&str, StateId>) -> Read<State> {
        let mut keys = Vec::new();
        let body = self.block(|r| {
            for op in &s.parser_ops {
                r.parser_op(op)?;
            }
            for k in &s.transition_key {
                let context = r.context.clone();
                keys.push(r.exact(&Arg::new(k, &context)?)?);
            }
            Ok(())
        })?;
        let mut cases = Vec::new();
        for t in &s.transitions {
            let target = match &t.next_state {
                None => Target::Accept,
                Some(name) => {
                    let id = ids.get(name.as_str()).copied();
                    Target::State(id.ok_or_else(|| self.unknown("state", name.as_str()))?)
                }
            };
            let matches = self.transition(t, &keys)?;
            let always =
                matches!(&matches, SelectMatch::Sets(s) if s.iter().all(|s| *s == KeySet::Any));
            if always && cases.is_empty() {
                let transition = Transition::Goto(target);
                return Ok(State {
                    name: s.name.clone(),
                    body,
                    transition,
                    rounds: 0,
                    span: self.span,
                });
            }
            cases.push(SelectCase { matches, target });
            if always {
                break;
            }
        }
        let keys = keys.into_iter().map(|k| k.expr).collect();
        let transition = Transition::Select { keys, cases };
        Ok(State {
            name: s.name.clone(),
            body,
            transition,
            rounds: 0,
            span: self.span,
        })
    }

    fn transition(&mut self, t: &model::Transition, keys: &[Num]) -> Read<SelectMatch> {
        match t.kind.as_deref() {
            Some("default") => return Ok(SelectMatch::Sets(vec![KeySet::Any; keys.len()])),
            Some("parse_vset") => {
                let name = t.value.as_deref().unwrap_or_default();
                if t.mask.is_some() {
                    return Err(self.unsupported("a value set with a mask"));
                }
                let id = self.value_sets.get(name).copied();
                let id = id.ok_or_else(|| self.unknown("value set", name))?;
                self.fit_value_set(id, keys)?;
                return Ok(SelectMatch::ValueSet(id));
            }
            Some("hexstr") | None => {}
            Some(other) => return Err(self.unsupported(format!("transition type `{other}`"))),
        }
        let bad = || self.malformed("a transition value that is no number");
        if t.value.as_deref() == Some("default") {
            return Ok(SelectMatch::Sets(vec![KeySet::Any; keys.len()]));
        }
        let value = t.value.as_deref().and_then(hex).ok_or_else(bad)?;
        let mask = t
            .mask
            .as_deref()
            .map(|m| hex(m).ok_or_else(bad))
            .transpose()?;
        Ok(SelectMatch::Sets(split_keys(&value, mask.as_ref(), keys)))
    }

    /// The file gives a value set as one number of all its bits; the keys tell its fields.
    fn fit_value_set(&mut self, id: ValueSetId, keys: &[Num]) -> Read<()> {
        let mut fields = Vec::new();
        for (i, k) in keys.iter().enumerate() {
            let ty = self.bits(k.width, false);
            fields.push(ValueSetField {
                name: i.to_string(),
                ty,
                kind: KeyKind::Match(MatchKind::Exact),
            });
        }
        let width = |r: &Self, fields: &[ValueSetField]| -> u64 {
            fields
                .iter()
                .filter_map(|f| r.program.types.wire_width(f.ty))
                .sum()
        };
        let known = &self.program.value_sets[id].fields;
        let first = self.fitted.insert(id);
        if known.len() == fields.len() {
            return Ok(());
        }
        if !first || width(self, known) != width(self, &fields) {
            return Err(self.malformed("keys that do not fit the value set"));
        }
        self.program.value_sets[id].fields = fields;
        Ok(())
    }

    fn parser_op(&mut self, p: &Primitive) -> Read<()> {
        self.at(p.source_info.as_ref());
        if p.op == "primitive" {
            let inner: Option<Primitive> = p
                .parameters
                .first()
                .and_then(|v| serde::Deserialize::deserialize(v).ok());
            let inner = inner.ok_or_else(|| self.malformed("`primitive` without a primitive"))?;
            return self.primitive(&inner);
        }
        let args = self.operands(p, None)?;
        match (p.op.as_str(), &args[..]) {
            ("extract", [header]) => self.extract(header, None),
            ("extract_VL", [header, size]) => {
                let size = self.whole_bytes(size)?;
                self.extract(header, Some(size))
            }
            ("set", [dst, src]) => self.assign(dst, src),
            ("verify", [cond, error]) => {
                let cond = self.condition(cond)?;
                let Arg::Number(n) = error else {
                    return Err(self.unsupported("`verify` with a computed error"));
                };
                let known = n.to_u32().and_then(|n| self.errors.get(&n).copied());
                let error = known.ok_or_else(|| self.unknown("error", n.to_string()))?;
                let error = self.error_const(error);
                self.emit(StmtKind::Verify { cond, error });
                Ok(())
            }
            ("advance", [bits]) => {
                let bits = self.whole_bytes(bits)?;
                self.emit(StmtKind::Advance { bits });
                Ok(())
            }
            ("shift", [Arg::Position(bytes)]) => {
                let bits = self.constant(&(BigInt::from(*bytes) * 8), 32, false);
                self.emit(StmtKind::Advance { bits });
                Ok(())
            }
            (op, _) => Err(self.unsupported(format!("parser operation `{op}`"))),
        }
    }

    /// A number of bits; BMv2 raises `ParserInvalidArgument` unless they are whole bytes.
    fn whole_bytes(&mut self, bits: &Arg) -> Read<ExprId> {
        let checked = match bits {
            Arg::Number(n) => n % 8 != BigInt::from(0),
            _ => true,
        };
        let bits = self.modulo(bits, 32)?;
        if checked {
            let low = self.bits(3, false);
            let low = self.program.add_expr(
                ExprKind::Slice {
                    value: bits,
                    hi: 2,
                    lo: 0,
                },
                low,
            );
            let zero = self.constant(&BigInt::from(0), 3, false);
            let ty = self.program.types.boolean();
            let cond = self
                .program
                .add_expr(ExprKind::Binary(BinaryOp::Eq, low, zero), ty);
            let error = self.error_const(INVALID_ARGUMENT);
            self.emit(StmtKind::Verify { cond, error });
        }
        Ok(bits)
    }

    fn extract(&mut self, header: &Arg, size: Option<ExprId>) -> Read<()> {
        let (header, others, advance) = match header {
            Arg::Named(kind, name) if kind == "stack" => {
                let (place, stack) = self.next_element(name)?;
                (place, Vec::new(), Some(stack))
            }
            Arg::UnionStackMember(stack, member) => {
                let (element, stack_place) = self.next_element(stack)?;
                let ty = self.stack(stack)?.element;
                let (place, _) = self.field_of(&element, ty, member)?;
                // Now, since `next` is another element afterwards.
                let others = self.union_siblings(&place);
                self.invalidate(&others);
                (place, Vec::new(), Some(stack_place))
            }
            _ => {
                let h = self.header_arg(header)?;
                (h.place, h.others, None)
            }
        };
        self.emit(match size {
            None => StmtKind::Extract { header, advance },
            Some(size) => StmtKind::ExtractVarbit {
                header,
                size,
                advance,
            },
        });
        self.invalidate(&others);
        Ok(())
    }

    /// `stack.next`, checked, and the stack.
    fn next_element(&mut self, name: &str) -> Read<(Place, Place)> {
        let s = self.stack(name)?;
        let next = self.next_index(&s.place);
        let size = self.constant(&BigInt::from(s.size), 32, false);
        let ty = self.program.types.boolean();
        let cond = self
            .program
            .add_expr(ExprKind::Binary(BinaryOp::Lt, next, size), ty);
        self.verify_bounds(cond);
        Ok((s.place.project(Projection::DynIndex(next)), s.place))
    }

    /// Bits ahead of the cursor.
    pub(crate) fn lookahead(&mut self, offset: u32, width: u32) -> Read<Num> {
        if !self.in_parser {
            return Err(self.malformed("`lookahead` outside of the parser"));
        }
        let bits = self.bits(width, false);
        let (ty, field) = if offset == 0 {
            (bits, None)
        } else {
            let skipped = self.bits(offset, false);
            let field = |name: &str, ty| Field {
                name: name.into(),
                ty,
                annotations: Vec::new(),
            };
            let fields = vec![field("0", skipped), field("1", bits)];
            let kind = RecordKind::Tuple;
            (
                self.program.types.intern(Type::Record {
                    kind,
                    name: String::new(),
                    fields,
                }),
                Some(1),
            )
        };
        let whole = Place::var(self.var("lookahead", ty, VarKind::Temp));
        self.emit(StmtKind::Lookahead { dst: whole.clone() });
        let place = field.map_or(whole.clone(), |i| whole.field(i));
        Ok(Num {
            expr: self.read(place, bits),
            width,
            signed: false,
        })
    }
}

/// Value and mask of each key: they stand side by side, each in whole bytes.
fn split_keys(value: &BigInt, mask: Option<&BigInt>, keys: &[Num]) -> Vec<KeySet> {
    let mut shift = 0u32;
    let mut sets = Vec::new();
    for k in keys.iter().rev() {
        let part = |v: &BigInt| wrap(&(v >> shift), k.width);
        let ones = (BigUint::from(1u32) << k.width) - 1u32;
        sets.push(match mask.map(part) {
            None => KeySet::Value(Const::Bits(part(value))),
            Some(m) if m == ones => KeySet::Value(Const::Bits(part(value))),
            Some(m) if m == BigUint::from(0u32) => KeySet::Any,
            Some(mask) => KeySet::Mask {
                value: part(value) & &mask,
                mask,
            },
        });
        shift += k.width.div_ceil(8) * 8;
    }
    sets.reverse();
    sets
}
