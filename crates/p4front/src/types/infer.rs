//! Inference of type arguments by unification.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::{FieldTy, Record, Ty, Types};

/// Bindings of inference variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Infer {
    vars: Vec<Option<Ty>>,
    /// The variables that stand for a `_` of the program.
    dont_care: HashSet<u32>,
}

impl Infer {
    pub(crate) fn fresh(&mut self) -> Ty {
        self.vars.push(None);
        Ty::Var((self.vars.len() - 1) as u32)
    }

    /// A variable for a `_` of the program: it need not become known.
    pub(crate) fn dont_care(&mut self) -> Ty {
        let fresh = self.fresh();
        if let Ty::Var(var) = fresh {
            self.dont_care.insert(var);
        }
        fresh
    }

    /// Whether a type is a `_` of the program that nothing has decided.
    pub(crate) fn is_dont_care(&self, ty: &Ty) -> bool {
        match self.resolve_shallow(ty) {
            Ty::Var(var) => self.dont_care.contains(&var),
            ty => ty == Ty::Any,
        }
    }

    /// Type arguments with a new variable for each `_` that nothing has decided.
    pub(crate) fn reopen(&mut self, args: &[Ty]) -> Vec<Ty> {
        let each = args.iter().map(|arg| match self.is_dont_care(arg) {
            true => self.dont_care(),
            false => arg.clone(),
        });
        each.collect()
    }

    /// Gives 32 bits to the type arguments that only numbers without a width have decided.
    pub(crate) fn give_widths(&mut self, args: &[Ty]) {
        for arg in args {
            if let Ty::Var(var) = arg
                && self.resolve_shallow(arg) == Ty::Int
            {
                self.vars[*var as usize] = Some(Ty::bit(32));
            }
        }
    }

    /// Leaves what is still undecided among type arguments open for good.
    pub(crate) fn leave_open(&mut self, args: &[Ty]) {
        for arg in args {
            if let Ty::Var(var) = self.resolve_shallow(arg)
                && self.dont_care.contains(&var)
            {
                self.vars[var as usize] = Some(Ty::Any);
            }
        }
    }

    /// The type with all known variables replaced. What was shared stays shared.
    pub(crate) fn resolve(&self, ty: &Ty) -> Ty {
        if !ty.is_open() {
            return ty.clone();
        }
        self.replace(ty, &mut HashMap::new())
    }

    /// As [`Self::resolve`]; `done` has what became of each record and tuple, by address.
    fn replace(&self, ty: &Ty, done: &mut HashMap<usize, Ty>) -> Ty {
        if !ty.is_open() {
            return ty.clone();
        }
        match ty {
            Ty::Var(v) => match self.vars.get(*v as usize) {
                Some(Some(bound)) => self.replace(bound, done),
                _ => ty.clone(),
            },
            Ty::Stack(t, n) => Ty::Stack(self.replace(t, done).into(), *n),
            Ty::List(t) => Ty::List(self.replace(t, done).into()),
            Ty::Tuple(all) => Ty::Tuple(self.replace_row(all, done)),
            Ty::ListExpr(all) => Ty::ListExpr(self.replace_all(all, done)),
            Ty::StructExpr(all) => {
                let each = all.iter();
                Ty::StructExpr(
                    each.map(|(n, t)| (n.clone(), self.replace(t, done)))
                        .collect(),
                )
            }
            Ty::Extern(id, name, args) => {
                Ty::Extern(*id, name.clone(), self.replace_row(args, done))
            }
            Ty::Block(id, name, args) => Ty::Block(*id, name.clone(), self.replace_row(args, done)),
            Ty::Package(id, name, args) => {
                Ty::Package(*id, name.clone(), self.replace_row(args, done))
            }
            Ty::Record(r) => {
                let at = Rc::as_ptr(r).addr();
                if let Some(known) = done.get(&at) {
                    return known.clone();
                }
                let args = self.replace_all(&r.args, done);
                let fields = r.fields.iter().map(|f| FieldTy {
                    ty: self.replace(&f.ty, done),
                    ..f.clone()
                });
                let fields = fields.collect();
                let made = Record::new((r.kind, r.decl, r.name.clone()), args, fields);
                let made = Ty::Record(made.into());
                done.insert(at, made.clone());
                made
            }
            _ => ty.clone(),
        }
    }

    /// A row of types that stands in several places is replaced once.
    fn replace_row(&self, row: &Rc<Types>, done: &mut HashMap<usize, Ty>) -> Rc<Types> {
        let at = Rc::as_ptr(row).addr();
        if let Some(Ty::Tuple(known)) = done.get(&at) {
            return known.clone();
        }
        let made = Types::new(self.replace_all(row, done));
        done.insert(at, Ty::Tuple(made.clone()));
        made
    }

    fn replace_all(&self, all: &[Ty], done: &mut HashMap<usize, Ty>) -> Vec<Ty> {
        all.iter().map(|t| self.replace(t, done)).collect()
    }

    /// Whether no unbound variable is left in a type.
    pub(crate) fn known(&self, ty: &Ty) -> bool {
        match self.resolve_shallow(ty) {
            Ty::Var(_) => false,
            Ty::Stack(t, _) | Ty::List(t) => self.known(&t),
            Ty::Tuple(all) => all.iter().all(|t| self.known(t)),
            Ty::ListExpr(all) => all.iter().all(|t| self.known(t)),
            Ty::StructExpr(all) => all.iter().all(|(_, t)| self.known(t)),
            Ty::Extern(_, _, args) | Ty::Block(_, _, args) | Ty::Package(_, _, args) => {
                args.iter().all(|t| self.known(t))
            }
            Ty::Record(r) => r.args.iter().all(|t| self.known(t)),
            _ => true,
        }
    }

    fn resolve_shallow(&self, ty: &Ty) -> Ty {
        let mut ty = ty.clone();
        while let Ty::Var(v) = ty {
            match self.vars.get(v as usize) {
                Some(Some(bound)) => ty = bound.clone(),
                _ => break,
            }
        }
        ty
    }

    fn occurs(&self, var: u32, ty: &Ty) -> bool {
        match self.resolve_shallow(ty) {
            Ty::Var(v) => v == var,
            Ty::Stack(t, _) | Ty::List(t) => self.occurs(var, &t),
            Ty::Tuple(all) => all.iter().any(|t| self.occurs(var, t)),
            Ty::ListExpr(all) => all.iter().any(|t| self.occurs(var, t)),
            Ty::Extern(_, _, a) | Ty::Block(_, _, a) | Ty::Package(_, _, a) => {
                a.iter().any(|t| self.occurs(var, t))
            }
            Ty::Record(r) => r.args.iter().any(|t| self.occurs(var, t)),
            _ => false,
        }
    }

    fn bind(&mut self, var: u32, ty: Ty) -> bool {
        if ty == Ty::Var(var) {
            return true;
        }
        if self.occurs(var, &ty) {
            return false;
        }
        self.vars[var as usize] = Some(ty);
        true
    }

    /// Makes a parameter's type and an argument's type meet; the argument may convert implicitly
    /// (`int` to a bit type or to a `type` of one, a list to a tuple, struct or header). A variable
    /// bound to `int` by one argument takes the sized type of a later one.
    pub(crate) fn unify(&mut self, param: &Ty, arg: &Ty) -> bool {
        if let Ty::Var(v) = param {
            match self.vars.get(*v as usize).cloned().flatten() {
                Some(Ty::Int) if self.resolve_shallow(arg).number().is_some() => {
                    self.vars[*v as usize] = Some(self.resolve_shallow(arg));
                    return true;
                }
                // Whatever is more than nothing decides.
                Some(Ty::Any) => {
                    let arg = self.resolve(arg);
                    self.vars[*v as usize] = None;
                    return self.bind(*v, arg);
                }
                Some(bound) => return self.unify(&bound, arg),
                None => {
                    let arg = match self.resolve(arg) {
                        Ty::ListExpr(all) => Ty::tuple(all),
                        other => other,
                    };
                    return self.bind(*v, arg);
                }
            }
        }
        let arg = self.resolve_shallow(arg);
        match (param, &arg) {
            (Ty::Poison | Ty::Any, _) | (_, Ty::Poison | Ty::Any) => true,
            (p, Ty::Var(v)) => self.bind(*v, p.clone()),
            (sized, Ty::Int) if sized.number().is_some() => true,
            (Ty::Stack(a, n), Ty::Stack(b, m)) => n == m && self.unify(a, b),
            (Ty::Stack(a, _) | Ty::List(a), Ty::ListExpr(all)) => {
                let a = (**a).clone();
                all.iter().all(|t| self.unify(&a, t))
            }
            (Ty::List(a), Ty::List(b)) => self.unify(a, b),
            (Ty::Tuple(a), Ty::Tuple(b)) => self.all(a, b),
            (Ty::Tuple(a), Ty::ListExpr(b)) => self.all(a, b),
            (Ty::Record(a), Ty::Record(b)) => a.decl == b.decl && self.all(&a.args, &b.args),
            (Ty::Record(a), Ty::ListExpr(b)) => {
                a.fields.len() == b.len()
                    && a.fields.iter().zip(b).all(|(f, t)| self.unify(&f.ty, t))
            }
            (Ty::Record(a), Ty::StructExpr(b)) => b
                .iter()
                .all(|(name, t)| a.field(name).is_some_and(|(_, f)| self.unify(&f.ty, t))),
            (Ty::Record(_), Ty::InvalidHeader) => true,
            (Ty::Extern(a, _, x), Ty::Extern(b, _, y))
            | (Ty::Block(a, _, x), Ty::Block(b, _, y))
            | (Ty::Package(a, _, x), Ty::Package(b, _, y)) => a == b && self.all(x, y),
            (p, Ty::Enum(_)) if arg.enum_repr() == Some(p) => true,
            (p, a) => p == a,
        }
    }

    fn all(&mut self, a: &[Ty], b: &[Ty]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| self.unify(x, y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_int_literal_takes_the_width_of_its_sibling() {
        let mut infer = Infer::default();
        let t = infer.fresh();
        assert!(infer.unify(&t, &Ty::Int));
        assert!(infer.unify(&t, &Ty::bit(16)));
        assert_eq!(infer.resolve(&t), Ty::bit(16));
        assert!(!infer.unify(&t, &Ty::bit(8)));
    }

    #[test]
    fn a_list_is_inferred_as_a_tuple() {
        let mut infer = Infer::default();
        let t = infer.fresh();
        assert!(infer.unify(&t, &Ty::ListExpr(vec![Ty::bit(8), Ty::Bool])));
        assert_eq!(infer.resolve(&t), Ty::tuple(vec![Ty::bit(8), Ty::Bool]));
    }
}
