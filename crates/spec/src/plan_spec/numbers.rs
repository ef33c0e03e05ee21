//! Codes and priorities that are chosen for tags.

use plan::{CarrierKind, TagCode, TagNumbers};
use quantities::Priority;

use super::{PlanError, PlanSpec, Spelling};

/// The highest priority of IEEE 802.1Q.
const HIGHEST_PRIORITY: u16 = 7;

/// The codes and priorities that a plan asks for.
///
/// # Errors
/// [`PlanError`] if a number is that of lossy packets, is too great, or is given twice. Whether
/// there are enough tags is known when there are tables.
pub(super) fn chosen(
    spec: &PlanSpec,
    carrier: CarrierKind,
    spelling: Spelling,
) -> Result<TagNumbers, PlanError> {
    let most = carrier.max_code();
    let field = format!("{} carries 1 to {most}", carrier.name());
    refuse(&spec.codes, most, "codes", "code", &field, spelling)?;
    let priorities: Vec<u16> = spec.tag_priorities.iter().copied().map(u16::from).collect();
    let range = format!("priorities of tags are 1 to {HIGHEST_PRIORITY}");
    let option = "tag_priorities";
    refuse(
        &priorities,
        HIGHEST_PRIORITY,
        option,
        "priority",
        &range,
        spelling,
    )?;
    Ok(TagNumbers {
        codes: spec.codes.iter().copied().map(TagCode::new).collect(),
        priorities: spec
            .tag_priorities
            .iter()
            .copied()
            .map(Priority::new)
            .collect(),
    })
}

fn refuse(
    given: &[u16],
    most: u16,
    option: &str,
    what: &str,
    range: &str,
    spelling: Spelling,
) -> Result<(), PlanError> {
    let option = spelling.option(option);
    for (place, number) in given.iter().enumerate() {
        if *number == 0 {
            let problem = format!("{option}: 0 is the {what} of lossy packets");
            return Err(PlanError::new(problem).help(format!("choose another {what}: {range}")));
        }
        if *number > most {
            let problem = format!("{option}: there is no {what} {number}; {range}");
            return Err(PlanError::new(problem).help(format!("choose another {what}")));
        }
        if given[..place].contains(number) {
            let problem = format!("{option}: {what} {number} is given twice");
            return Err(PlanError::new(problem).help(format!("give every tag its own {what}")));
        }
    }
    Ok(())
}
