//! Options of lossless tags: classes, carrier, rules, budgets.

use std::fmt;
use std::str::FromStr;

use plan::{Budget, CarrierKind, RuleForm, TagNumbers};
use schemes::{ClassSpec, TaggerOptions};
use serde::Deserialize;

use super::{PlanError, PlanSpec, Spelling, numbers};

/// A lossless class as users write it: `gold`, or with its own limit of bounces `gold:2`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ClassText(ClassSpec);

impl FromStr for ClassText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, bounces) = match text.rsplit_once(':') {
            None => (text, None),
            Some((name, bounces)) => {
                let number = bounces
                    .parse()
                    .map_err(|_| format!("`{bounces}` is not a number of bounces (0 to 255)"))?;
                (name, Some(number))
            }
        };
        Ok(Self(ClassSpec {
            name: name.to_owned(),
            bounces,
        }))
    }
}

impl TryFrom<String> for ClassText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for ClassText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.bounces {
            None => f.write_str(&self.0.name),
            Some(bounces) => write!(f, "{}:{bounces}", self.0.name),
        }
    }
}

/// What every lossless tag has: a carrier, a form of its rules, limits of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tags {
    carrier: CarrierKind,
    numbers: TagNumbers,
    form: RuleForm,
    budget: Budget,
    seed: u64,
}

impl Tags {
    /// The tags of a plan, in the header `carrier` where none is asked for.
    ///
    /// # Errors
    /// [`PlanError`] if codes or priorities are chosen that no tag can have.
    pub(super) fn of(
        spec: &PlanSpec,
        carrier: CarrierKind,
        spelling: Spelling,
    ) -> Result<Self, PlanError> {
        let carrier = spec.carrier.map_or(carrier, |carrier| carrier.0);
        Ok(Self {
            carrier,
            numbers: numbers::chosen(spec, carrier, spelling)?,
            form: spec.rules.map_or(RuleForm::default(), |rules| rules.0),
            budget: spec.budget(),
            seed: spec.seed(),
        })
    }

    /// Options of the tagging schemes with these tags, and else their defaults.
    pub(super) fn options(&self) -> TaggerOptions {
        TaggerOptions {
            carrier: self.carrier,
            numbers: self.numbers.clone(),
            form: self.form,
            budget: self.budget.clone(),
            seed: self.seed,
            ..TaggerOptions::default()
        }
    }
}

/// Lossless classes over one set of tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Classes {
    /// The classes; those of [`TaggerOptions`] if empty.
    list: Vec<ClassSpec>,
    bits: bool,
    /// The most bounces that a class or the plan asks for.
    bounces: Option<u8>,
}

impl Classes {
    /// # Errors
    /// [`PlanError`] if a class asks for more bounces than the plan allows.
    pub(super) fn of(spec: &PlanSpec, spelling: Spelling) -> Result<Self, PlanError> {
        let list: Vec<ClassSpec> = match spec.classes {
            Some(0) => return Err(PlanError::new(schemes::SchemeError::NoClass)),
            None | Some(1) => spec.class.iter().map(|class| class.0.clone()).collect(),
            Some(count) => TaggerOptions::default().with_classes(count).classes,
        };
        let most = list.iter().filter_map(|class| class.bounces).max();
        let asked = spec.bounces_asked();
        if let Some(bounces) = asked
            && let Some(class) = list
                .iter()
                .find(|class| class.bounces.is_some_and(|own| own > bounces))
        {
            let given = spelling.with_value("bounces", &bounces.to_string());
            let wanted = spelling.with_value("bounces", &most.unwrap_or_default().to_string());
            return Err(PlanError::new(format!(
                "class `{}` is to stay lossless over more bounces than {given} allows",
                class.name
            ))
            .help(format!("give {wanted}")));
        }
        let usual = TaggerOptions::default().bounces;
        let bounces = asked.or(most.map(|most| most.max(usual)));
        Ok(Self {
            list,
            bits: spec.class_bits,
            bounces,
        })
    }

    /// The bounces that stay lossless, where they are counted.
    pub(super) fn bounces(&self) -> u8 {
        self.bounces.unwrap_or(TaggerOptions::default().bounces)
    }

    /// Refuses limits of bounces where nothing counts bounces.
    ///
    /// # Errors
    /// [`PlanError`] with the first class that has such a limit.
    pub(super) fn refuse_limits(&self, spelling: Spelling) -> Result<(), PlanError> {
        let limited = self.list.iter().find(|class| class.bounces.is_some());
        limited.map_or(Ok(()), |class| {
            let without = spelling.with_value("class", &class.name);
            Err(PlanError::new(format!(
                "class `{}` has a limit of bounces, but only up-down routes under the scheme tagger bounce",
                class.name
            ))
            .help(format!("give {without}, without a number")))
        })
    }

    /// The options with these classes.
    pub(super) fn apply(&self, options: TaggerOptions) -> TaggerOptions {
        TaggerOptions {
            classes: match self.list.is_empty() {
                true => options.classes,
                false => self.list.clone(),
            },
            class_bits: self.bits,
            bounces: self.bounces(),
            ..options
        }
    }
}
