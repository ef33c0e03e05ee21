//! The oracle: what a program does to a packet by the rules of P4_16, straight from the tree it was
//! printed from.
//!
//! Every call works on values of its own: arguments are evaluated from left to right as the call
//! writes them, each with its value and its place, the body runs on copies, and results go to the
//! saved places from left to right of the arguments, also after `exit` (P4_16, section 6.8).
//! Where the language leaves a number undefined it stays so; a decision that depends on one ends
//! the packet as [`Outcome::Undefined`].

use std::collections::BTreeSet;

use super::ast::{
    Arg, Block, Callee, Choice, Code, Cond, Direction, Expr, Given, Kind, Lvalue, Op, Program,
    Record, Source, Step, Stmt, Table, Test, Ty, VarRef,
};
use super::value::{Value, ones};
use super::walk;

/// What becomes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is sent; `None` for bytes that are undefined.
    Sent(Vec<Option<u8>>),
    /// The language does not say.
    Undefined(&'static str),
}

/// Something that p4c is known to do otherwise than the language says: it explains a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// It evaluates the right side of an assignment before the indices on the left.
    RightBeforeLeft,
    /// A list for a header whose index is computed goes there field by field, each by the index as
    /// it is by then, and the header is not made valid.
    ListByIndex,
    /// A header assigned from a list that reads it becomes invalid.
    ListFromItself,
    /// It copies nothing out of what it passes through a temporary when the callee exits.
    ExitWithoutCopies,
    /// What it extracts into an element whose index is computed stays in a temporary.
    ExtractByIndex,
    /// What a parser stores, and would store or extract again behind an extraction, counts for
    /// nothing, though the extraction may fail.
    LostBeforeExtract,
    /// What is stored in one element counts for nothing before a store into an element whose index
    /// is computed.
    LostBeforeIndex,
    /// The indices of a slice that is assigned do not count as reads: what they read may not have
    /// been stored.
    IndexOfSlice,
    /// An argument for action data stands where the parameter is read, so that its calls happen as
    /// often, or never.
    CallAsData,
    /// An `out` stack of a sub-parser begins with what the argument holds, not invalid.
    OutStackKept,
    /// It evaluates the indices of an argument bound in a table's list of actions again after the
    /// action.
    BoundTwice,
    /// It takes a `switch` on a number without a default for one of whose cases always runs.
    NoDefault,
    /// What was stored before another control exits, and would be stored again after it, counts for
    /// nothing.
    LostBeforeExit,
}

/// What a program does to a packet.
#[derive(Clone, Debug)]
pub struct Run {
    /// What becomes of it.
    pub outcome: Outcome,
    /// What p4c is known to do otherwise on its way.
    pub faults: BTreeSet<Fault>,
}

/// Runs a packet through a program.
#[must_use]
pub fn run(program: &Program, packet: &[u8]) -> Run {
    let mut machine = Machine {
        program,
        frames: Vec::new(),
        packet,
        cursor: 0,
        stored: Vec::new(),
        faults: BTreeSet::new(),
    };
    let outcome = match machine.packet() {
        Ok(sent) => Outcome::Sent(sent),
        Err(Stop::Undefined(why)) => Outcome::Undefined(why),
        Err(Stop::Exit | Stop::Reject) => Outcome::Undefined("stopped where nothing can stop"),
    };
    Run {
        outcome,
        faults: machine.faults,
    }
}

/// Why the code under way does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// `exit`: out of ingress.
    Exit,
    /// Out of the parser.
    Reject,
    /// Out of what the language defines.
    Undefined(&'static str),
}

/// Where a statement leads.
enum Flow {
    Next,
    Return(Option<Value>),
}

/// The variables of a call under way.
struct Frame {
    code: Code,
    vars: Vec<Value>,
    /// The frame of the control around an action.
    outer: usize,
}

/// A place that was found: no later change can move it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spot {
    frame: usize,
    var: usize,
    path: Vec<usize>,
    slice: Option<(u32, u32)>,
}

struct Machine<'p> {
    program: &'p Program,
    frames: Vec<Frame>,
    packet: &'p [u8],
    /// Bytes the parser took.
    cursor: usize,
    /// Where something was stored other than by extraction.
    stored: Vec<Spot>,
    faults: BTreeSet<Fault>,
}

impl<'p> Machine<'p> {
    fn packet(&mut self) -> Result<Vec<Option<u8>>, Stop> {
        let [headers, meta] = [Record::Headers, Record::Meta].map(Ty::Record);
        let parser = Code::Parser(self.program.parsers.len() - 1);
        let ingress = Code::Control(self.program.controls.len() - 1);
        let first = vec![Value::undefined(headers), Value::zero(meta)];
        let (parsed, end) = self.top(parser, first);
        // A rejected packet goes on with what was extracted.
        if !matches!(end, Ok(()) | Err(Stop::Reject)) {
            end?;
        }
        let (mut vars, end) = self.top(ingress, parsed);
        if !matches!(end, Ok(()) | Err(Stop::Exit)) {
            end?;
        }
        let meta = vars.remove(1);
        let mut headers = vars.remove(0);
        report(&mut headers, &meta);
        let mut sent = Vec::new();
        for index in 0..Record::Headers.fields().len() {
            if let Some(header) = headers.part(index) {
                header.emit(&mut sent);
            }
        }
        sent.extend(self.packet[self.cursor..].iter().copied().map(Some));
        Ok(sent)
    }

    /// Runs a top-level block and returns headers and metadata.
    fn top(&mut self, code: Code, vars: Vec<Value>) -> (Vec<Value>, Result<(), Stop>) {
        let end = self.enter(code, vars, 0).map(drop);
        let vars = self.frames.pop().map_or_else(Vec::new, |f| f.vars);
        (vars.into_iter().take(2).collect(), end)
    }

    /// Runs code in a new frame, which is left for the caller to read and remove.
    fn enter(&mut self, code: Code, vars: Vec<Value>, outer: usize) -> Result<Flow, Stop> {
        self.frames.push(Frame { code, vars, outer });
        let frame = self.frames.len() - 1;
        let callable = self.program.code(code);
        for (local, first) in callable.locals() {
            let value = self.source(frame, first, local.ty)?;
            self.frames[frame].vars.push(value);
        }
        if let returned @ Flow::Return(_) = self.block(frame, &callable.body)? {
            return Ok(returned);
        }
        match &callable.result {
            Some((_, value)) => Ok(Flow::Return(Some(self.number(frame, value)?))),
            None => Ok(Flow::Next),
        }
    }

    fn call(
        &mut self,
        frame: usize,
        callee: Callee,
        args: impl IntoIterator<Item = &'p Given>,
    ) -> Result<Option<Value>, Stop> {
        let code = self.program.called(self.frames[frame].code, callee);
        let callable = self.program.code(code);
        let params: Vec<_> = callable.params().collect();
        let defaults = params.iter().zip(&callable.defaults);
        let mut vars: Vec<Value> = defaults
            .map(|((param, _), default)| match param.ty {
                Ty::Bits(width) => Value::Number(width, *default),
                other => Value::undefined(other),
            })
            .collect();
        let mut results = Vec::new();
        for given in args {
            let index = given.param;
            let (param, direction) = params[index];
            let value = match &given.arg {
                Arg::Value(source) => {
                    if direction == Direction::None && walk::has_calls(source) {
                        self.faults.insert(Fault::CallAsData);
                    }
                    self.source(frame, source, param.ty)?
                }
                Arg::Place(place) => {
                    // p4c puts the place where the parameter stands.
                    if matches!(callee, Callee::Parser(_)) && moves(place) {
                        self.faults.insert(Fault::ExtractByIndex);
                    }
                    let out_stack = direction == Direction::Out && param.ty == Ty::Stack;
                    if matches!(callee, Callee::Parser(_)) && out_stack {
                        self.faults.insert(Fault::OutStackKept);
                    }
                    let spot = self.spot(frame, place)?;
                    let value = match direction {
                        Direction::InOut => self.get(&spot),
                        _ => Value::undefined(param.ty),
                    };
                    results.push((index, spot, place));
                    value
                }
            };
            vars[index] = value;
        }
        let outer = match self.frames[frame].code {
            Code::Action(..) => self.frames[frame].outer,
            _ => frame,
        };
        let end = self.enter(code, vars, outer);
        let vars = self.frames.pop().map_or_else(Vec::new, |f| f.vars);
        match end {
            Err(Stop::Reject) => return Err(Stop::Undefined("a parser rejects inside another")),
            Err(Stop::Undefined(why)) => return Err(Stop::Undefined(why)),
            Ok(_) | Err(Stop::Exit) => {}
        }
        if end.is_err() && !results.is_empty() {
            self.faults.insert(Fault::ExitWithoutCopies);
        }
        if end.is_err() && matches!(code, Code::Control(_)) && !self.stored.is_empty() {
            self.faults.insert(Fault::LostBeforeExit);
        }
        for (index, spot, place) in results {
            self.store(place, &spot, vars[index].clone());
        }
        match end? {
            Flow::Return(value) => Ok(value),
            Flow::Next => Ok(None),
        }
    }

    // ----- places -----

    fn spot(&mut self, frame: usize, place: &'p Lvalue) -> Result<Spot, Stop> {
        let (at, var) = match place.var {
            VarRef::Own(var) => (frame, var),
            VarRef::Outer(var) => (self.frames[frame].outer, var),
        };
        let mut spot = Spot {
            frame: at,
            var,
            path: Vec::new(),
            slice: place.slice,
        };
        for step in &place.steps {
            let index = match step {
                Step::Field(index) | Step::Index(index) => *index,
                Step::Moving(index) => {
                    let index = self.number(frame, index)?.number();
                    index.ok_or(Stop::Undefined("an index"))? as usize
                }
                Step::Next => match self.whole(&spot) {
                    Value::Stack(next, elements) if *next < elements.len() => *next,
                    _ => return Err(Stop::Reject),
                },
            };
            spot.path.push(index);
        }
        Ok(spot)
    }

    /// Whether a place would be found somewhere else by now. One with calls is not asked: they have
    /// effects.
    fn moved(&mut self, frame: usize, place: &'p Lvalue, spot: &Spot) -> bool {
        !walk::calls(place) && self.spot(frame, place).is_ok_and(|now| now != *spot)
    }

    /// What is stored at a place, before slicing.
    fn whole(&self, spot: &Spot) -> &Value {
        let mut value = &self.frames[spot.frame].vars[spot.var];
        for index in &spot.path {
            value = value.part(*index).unwrap_or(value);
        }
        value
    }

    fn whole_mut(&mut self, spot: &Spot) -> &mut Value {
        let mut value = &mut self.frames[spot.frame].vars[spot.var];
        for index in &spot.path {
            // Paths are made from the types.
            value = value.part_mut(*index).expect("a path into its variable");
        }
        value
    }

    fn get(&self, spot: &Spot) -> Value {
        let whole = self.whole(spot);
        match spot.slice {
            Some((hi, lo)) => whole.slice(hi, lo),
            None => whole.clone(),
        }
    }

    /// Writes a place. What goes into a field of an invalid header is lost: the field stays
    /// undefined (P4_16, "Reading uninitialized values and writing fields of invalid headers").
    fn set(&mut self, spot: &Spot, value: Value) {
        if self.is_in_invalid(spot) {
            return;
        }
        let whole = self.whole_mut(spot);
        *whole = match spot.slice {
            Some((hi, lo)) => whole.with_slice(hi, lo, &value),
            None => value,
        };
    }

    /// Whether a place is a field of an invalid header.
    fn is_in_invalid(&self, spot: &Spot) -> bool {
        let mut value = &self.frames[spot.frame].vars[spot.var];
        spot.path.iter().any(|index| {
            let invalid = matches!(value, Value::Record(false, _));
            value = value.part(*index).unwrap_or(value);
            invalid
        })
    }

    /// Stores what was not extracted.
    fn store(&mut self, place: &Lvalue, spot: &Spot, value: Value) {
        let moving = place.steps.iter().position(is_moving);
        if moving.is_some_and(|at| self.was_stored(spot, at)) {
            self.faults.insert(Fault::LostBeforeIndex);
        }
        if moving.is_some() && place.slice.is_some() {
            self.faults.insert(Fault::IndexOfSlice);
        }
        self.stored.push(spot.clone());
        self.set(spot, value);
    }

    /// Whether anything was stored, other than by extraction, in what the first steps to a place
    /// lead to.
    fn was_stored(&self, spot: &Spot, steps: usize) -> bool {
        let around = &spot.path[..steps];
        self.stored.iter().any(|other| {
            let same = (other.frame, other.var) == (spot.frame, spot.var);
            same && (other.path.starts_with(around) || around.starts_with(&other.path))
        })
    }

    // ----- values -----

    fn source(&mut self, frame: usize, source: &'p Source, ty: Ty) -> Result<Value, Stop> {
        match source {
            Source::Number(e) => self.number(frame, e),
            Source::Copy(place) => {
                let spot = self.spot(frame, place)?;
                Ok(self.get(&spot))
            }
            Source::List(all) => {
                let all: Result<Vec<Value>, Stop> =
                    all.iter().map(|e| self.number(frame, e)).collect();
                debug_assert!(matches!(ty, Ty::Record(_)), "only records are listed");
                Ok(Value::Record(true, all?))
            }
        }
    }

    fn number(&mut self, frame: usize, e: &'p Expr) -> Result<Value, Stop> {
        Ok(match e {
            Expr::Const(width, value) => Value::Number(*width, Some(*value)),
            Expr::Read(place) => {
                let spot = self.spot(frame, place)?;
                self.get(&spot)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.number(frame, a)?, self.number(frame, b)?);
                binary(*op, &a, &b)
            }
            Expr::Not(a) => match self.number(frame, a)? {
                Value::Number(width, value) => {
                    Value::Number(width, value.map(|n| !n & ones(width)))
                }
                other => other,
            },
            Expr::Cast(width, a) => {
                let value = self.number(frame, a)?.number();
                Value::Number(*width, value.map(|n| n & ones(*width)))
            }
            Expr::Mux(cond, a, b) => match self.truth(frame, cond)? {
                true => self.number(frame, a)?,
                false => self.number(frame, b)?,
            },
            Expr::Call(function, args) => self
                .call(frame, Callee::Function(*function), args)?
                .ok_or(Stop::Undefined("a function without result"))?,
        })
    }

    fn truth(&mut self, frame: usize, cond: &'p Cond) -> Result<bool, Stop> {
        Ok(match cond {
            Cond::Compare(test, a, b) => {
                let a = self.number(frame, a)?.number();
                let b = self.number(frame, b)?.number();
                let (a, b) = a.zip(b).ok_or(Stop::Undefined("a condition"))?;
                match test {
                    Test::Equal => a == b,
                    Test::Unequal => a != b,
                    Test::Less => a < b,
                    Test::AtLeast => a >= b,
                }
            }
            Cond::IsValid(place) => {
                let spot = self.spot(frame, place)?;
                matches!(self.whole(&spot), Value::Record(true, _))
            }
            Cond::Not(a) => !self.truth(frame, a)?,
            Cond::And(a, b) => self.truth(frame, a)? && self.truth(frame, b)?,
            Cond::Or(a, b) => self.truth(frame, a)? || self.truth(frame, b)?,
            Cond::Hit(table) => self.apply(frame, *table)?.1,
        })
    }

    // ----- statements -----

    fn block(&mut self, frame: usize, block: &'p Block) -> Result<Flow, Stop> {
        for stmt in block {
            if let returned @ Flow::Return(_) = self.stmt(frame, stmt)? {
                return Ok(returned);
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, frame: usize, stmt: &'p Stmt) -> Result<Flow, Stop> {
        match stmt {
            Stmt::Assign(place, source) => {
                let spot = self.spot(frame, place)?;
                let ty = self.type_at(frame, place);
                let value = self.source(frame, source, ty)?;
                if self.moved(frame, place, &spot) {
                    self.faults.insert(Fault::RightBeforeLeft);
                }
                self.store(place, &spot, value);
                if let Source::List(list) = source {
                    if moves(place) {
                        self.faults.insert(Fault::ListByIndex);
                    }
                    if list.iter().any(|e| walk::reads(e, place)) {
                        self.faults.insert(Fault::ListFromItself);
                    }
                }
            }
            Stmt::SetValid(place) => {
                let spot = self.spot(frame, place)?;
                self.stored.push(spot.clone());
                self.whole_mut(&spot).set_valid();
            }
            Stmt::SetInvalid(place) => {
                let spot = self.spot(frame, place)?;
                self.stored.push(spot.clone());
                self.whole_mut(&spot).set_invalid();
            }
            Stmt::Push(place, count) => self.shift(frame, place, *count, true)?,
            Stmt::Pop(place, count) => self.shift(frame, place, *count, false)?,
            Stmt::If(cond, then, other) => {
                let block = if self.truth(frame, cond)? {
                    then
                } else {
                    other
                };
                return self.block(frame, block);
            }
            Stmt::Switch(value, cases, default) => {
                let value = self.number(frame, value)?.number();
                let value = value.ok_or(Stop::Undefined("a switch"))?;
                let case = cases.iter().find(|(label, _)| *label == value);
                // Nothing is printed for a default that does nothing.
                if case.is_none() && default.is_empty() {
                    self.faults.insert(Fault::NoDefault);
                }
                return self.block(frame, case.map_or(default, |(_, block)| block));
            }
            Stmt::SwitchAction(table, cases, default) => {
                let ran = self.apply(frame, *table)?.0;
                let case = cases.iter().find(|(listed, _)| *listed == ran);
                return self.block(frame, case.map_or(default, |(_, block)| block));
            }
            Stmt::Apply(table) => drop(self.apply(frame, *table)?),
            Stmt::Call(callee, args) => drop(self.call(frame, *callee, args)?),
            Stmt::Return(None) => return Ok(Flow::Return(None)),
            Stmt::Return(Some(value)) => {
                return Ok(Flow::Return(Some(self.number(frame, value)?)));
            }
            Stmt::Exit => return Err(Stop::Exit),
            Stmt::Extract(place) => self.extract(frame, place)?,
        }
        Ok(Flow::Next)
    }

    fn type_at(&self, frame: usize, place: &Lvalue) -> Ty {
        let code = self.frames[frame].code;
        self.program.type_of(code, place)
    }

    fn shift(
        &mut self,
        frame: usize,
        place: &'p Lvalue,
        count: usize,
        push: bool,
    ) -> Result<(), Stop> {
        let spot = self.spot(frame, place)?;
        self.stored.push(spot.clone());
        if let Value::Stack(_, elements) = self.whole_mut(&spot) {
            let count = count.min(elements.len());
            let fresh = if push {
                elements.rotate_right(count);
                0..count
            } else {
                elements.rotate_left(count);
                elements.len() - count..elements.len()
            };
            elements[fresh].iter_mut().for_each(Value::set_invalid);
        }
        Ok(())
    }

    fn extract(&mut self, frame: usize, place: &'p Lvalue) -> Result<(), Stop> {
        if moves(place) {
            self.faults.insert(Fault::ExtractByIndex);
        }
        let spot = self.spot(frame, place)?;
        let Ty::Record(record) = self.type_at(frame, place) else {
            return Err(Stop::Undefined("only headers are extracted"));
        };
        let mut fields = Vec::new();
        let mut bit = self.cursor * 8;
        for (_, ty) in record.fields() {
            let Ty::Bits(width) = ty else { continue };
            let mut number = 0;
            for _ in 0..*width {
                let Some(byte) = self.packet.get(bit / 8) else {
                    if !self.stored.is_empty() {
                        self.faults.insert(Fault::LostBeforeExtract);
                    }
                    return Err(Stop::Reject);
                };
                number = number << 1 | u64::from(byte >> (7 - bit % 8) & 1);
                bit += 1;
            }
            fields.push(Value::Number(*width, Some(number)));
        }
        self.cursor = bit / 8;
        self.set(&spot, Value::Record(true, fields));
        if let Some((Step::Next, _)) = place.steps.split_last() {
            let mut stack = spot;
            stack.path.pop();
            if let Value::Stack(next, _) = self.whole_mut(&stack) {
                *next += 1;
            }
        }
        Ok(())
    }

    /// Applies a table of the control: which action of its list ran, and whether an entry was hit.
    fn apply(&mut self, frame: usize, table: usize) -> Result<(usize, bool), Stop> {
        let control = self.program.around(self.frames[frame].code);
        let control = control.ok_or(Stop::Undefined("a table outside a control"))?;
        let table = &control.tables[table];
        let mut keys = Vec::new();
        for (_, key, _) in &table.keys {
            let value = self.number(frame, key)?.number();
            keys.push(value.ok_or(Stop::Undefined("a key"))?);
        }
        let entry = table
            .entries
            .iter()
            .find(|e| matches(table, &e.keys, &keys));
        let choice = entry.map_or(&table.default, |e| &e.choice);
        self.act(frame, table, choice)?;
        Ok((choice.listed, entry.is_some()))
    }

    fn act(&mut self, frame: usize, table: &'p Table, choice: &'p Choice) -> Result<(), Stop> {
        let listed = &table.actions[choice.listed];
        let bound = listed.bound.iter().filter_map(|given| match &given.arg {
            Arg::Place(place) => Some(place),
            Arg::Value(_) => None,
        });
        let mut spots = Vec::new();
        for place in bound {
            spots.push((place, self.spot(frame, place)?));
        }
        let args = listed.bound.iter().chain(&choice.data);
        let end = self.call(frame, Callee::Action(listed.action), args);
        if spots
            .iter()
            .any(|(place, spot)| self.moved(frame, place, spot))
        {
            self.faults.insert(Fault::BoundTwice);
        }
        end.map(drop)
    }
}

/// Whether an index in a place is computed.
fn moves(place: &Lvalue) -> bool {
    place.steps.iter().any(is_moving)
}

const fn is_moving(step: &Step) -> bool {
    matches!(step, Step::Moving(_))
}

fn matches(table: &Table, sets: &[(u64, u64)], keys: &[u64]) -> bool {
    let all = table.keys.iter().zip(sets).zip(keys);
    all.into_iter()
        .all(|(((_, _, kind), (value, mask)), key)| match kind {
            Kind::Exact => value == key,
            Kind::Ternary => value & mask == key & mask,
        })
}

fn binary(op: Op, a: &Value, b: &Value) -> Value {
    let Value::Number(width, _) = a else {
        return a.clone();
    };
    let both = a.number().zip(b.number());
    let value = both.map(|(a, b)| match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
    });
    Value::Number(*width, value.map(|n| n & ones(*width)))
}

/// What egress does: the packet takes the metadata along.
fn report(headers: &mut Value, meta: &Value) {
    let at = |path: &[usize]| {
        let mut value = Some(meta);
        for index in path {
            value = value.and_then(|v| v.part(*index));
        }
        value.cloned()
    };
    let fields = [at(&[0]), at(&[1]), at(&[2, 0]), at(&[2, 1])];
    let fields = fields.into_iter().flatten().collect();
    if let Some(report) = headers.part_mut(4) {
        *report = Value::Record(true, fields);
    }
}
