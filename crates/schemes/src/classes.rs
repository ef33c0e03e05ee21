//! Several lossless classes over one set of tags (Tagger17 section 4.4 in Tagger17's numbering;
//! TaggerDraft section 5.1).
//!
//! Class `c` of `N` starts `c` tags above the first one and rises like every other, so that `M`
//! rises need `M + N` tags. Where packets carry class bits, every class has its own last tag and
//! may be given fewer rises; otherwise the lower classes may rise further than asked, which is
//! still free of deadlock.

use plan::{Class, ClassId, NewTag, Tag, TagRule};
use topology::routes::RoutePolicy;

use super::error::SchemeError;
use super::options::TaggerOptions;
use super::turn::Turn;

/// How many tags can be counted; one number is spared for "none".
const MAX_TAGS: usize = 255;

/// The classes of a plan and how far each may rise.
pub(super) struct ClassPlan<'a> {
    options: &'a TaggerOptions,
}

impl<'a> ClassPlan<'a> {
    pub(super) const fn new(options: &'a TaggerOptions) -> Self {
        Self { options }
    }

    /// The rises of every class, given how many the algorithm needs.
    fn rises(&self, needed: u8) -> impl Iterator<Item = u8> + '_ {
        let classes = self.options.classes.iter();
        classes.map(move |class| class.bounces.unwrap_or(needed).min(needed))
    }

    /// The tags from `first` on that all classes need together, and the classes.
    ///
    /// # Errors
    /// [`SchemeError`] if there is no class or there are too many tags.
    pub(super) fn allot(
        &self,
        first: Tag,
        needed: u8,
    ) -> Result<(Vec<Tag>, Vec<Class>), SchemeError> {
        let first = usize::from(first.get());
        let last = self
            .rises(needed)
            .enumerate()
            .map(|(number, rises)| first + number + usize::from(rises))
            .max()
            .ok_or(SchemeError::NoClass)?;
        if last >= MAX_TAGS {
            return Err(SchemeError::TooManyTags {
                needed: last + 1 - first,
                most: MAX_TAGS - first,
            });
        }
        let tag = |number: usize| Tag::new(u8::try_from(number).unwrap_or(u8::MAX));
        let classes = self.options.classes.iter().zip(self.rises(needed));
        let classes = classes.enumerate().map(|(number, (spec, rises))| Class {
            name: spec.name.clone(),
            initial: tag(first + number),
            limit: self
                .options
                .class_bits
                .then(|| tag(first + number + usize::from(rises))),
        });
        Ok(((first..=last).map(tag).collect(), classes.collect()))
    }

    /// The routes that each class is promised: those that were asked for, with as many bounces as
    /// the class may make.
    pub(super) fn promised(&self, routes: &RoutePolicy) -> Vec<(ClassId, RoutePolicy)> {
        let classes = (0..).map(ClassId::new).zip(&self.options.classes);
        classes
            .map(|(id, class)| match (routes, class.bounces) {
                (RoutePolicy::UpDown { bounces }, Some(own)) => {
                    let bounces = own.min(*bounces);
                    (id, RoutePolicy::UpDown { bounces })
                }
                _ => (id, routes.clone()),
            })
            .collect()
    }
}

/// Spells the turns of one switch out for every tag. At the last tag what would rise turns lossy;
/// so it does, where packets carry their class, at the last tag of its class.
pub(super) fn spell_out(turns: &[Turn], tags: &[Tag], classes: &[Class]) -> Vec<TagRule> {
    let mut rules = Vec::new();
    for (place, &tag) in tags.iter().enumerate() {
        for turn in turns {
            let risen = tags.get(place + 1).copied();
            let new_tag = match (turn.rises, risen) {
                (false, _) => NewTag::Lossless(tag),
                (true, Some(risen)) => NewTag::Lossless(risen),
                (true, None) => NewTag::Lossy,
            };
            let rule = |class, precedence, new_tag| TagRule {
                precedence,
                class,
                tag,
                in_ports: turn.in_ports.clone(),
                out_ports: turn.out_ports.clone(),
                new_tag,
            };
            let limited = (0..).map(ClassId::new).zip(classes);
            let limited = limited.filter(|(_, class)| turn.rises && class.limit == Some(tag));
            if new_tag != NewTag::Lossy {
                for (class, _) in limited {
                    let above = turn.precedence.saturating_add(1);
                    rules.push(rule(Some(class), above, NewTag::Lossy));
                }
            }
            // A lossy rule is needed only above another rule that would catch the packet.
            if new_tag != NewTag::Lossy || turn.precedence > 0 {
                rules.push(rule(None, turn.precedence, new_tag));
            }
        }
    }
    rules
}
