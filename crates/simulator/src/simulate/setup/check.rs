//! What a scenario says of times and names, checked before anything is set up.

use std::collections::BTreeSet;

use spec::{Scenario, ScenarioError, Time};

/// Whether everything in a scenario can come to pass.
///
/// # Errors
/// [`ScenarioError::Wrong`] for what lies after the end, lasts no time, or has the name of
/// something else.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let end = scenario.duration;
    let late = |place: String, what: &str, at: Time| {
        let problem = format!(
            "{what} at {}, but the simulation ends at {}; have it earlier or make `duration` longer",
            at.0.with_unit(),
            end.0.with_unit()
        );
        Err(ScenarioError::wrong(place, problem))
    };
    if let Some(from) = scenario.measure_from.filter(|&from| from >= end) {
        return late("measure_from".to_owned(), "measuring begins", from);
    }
    if scenario.sample.is_some_and(|sample| sample.0.get() == 0) {
        return Err(ScenarioError::wrong(
            "sample",
            "is 0; points must be some time apart",
        ));
    }
    let mut names = BTreeSet::new();
    for (number, flow) in scenario.flows.iter().enumerate() {
        if let Some(start) = flow.start.filter(|&start| start >= end) {
            return late(flow.place(number), "it starts", start);
        }
        if let Some(stop) = flow.stop
            && stop.0.get() <= flow.start.map_or(0, |start| start.0.get())
        {
            let problem = format!(
                "stops at {}, which is not after its start",
                stop.0.with_unit()
            );
            return Err(ScenarioError::wrong(flow.place(number), problem));
        }
        if let Some(name) = &flow.name
            && !names.insert(name)
        {
            return Err(ScenarioError::wrong(
                format!("flows[{number}]"),
                format!("another flow is called `{name}` already; give it a name of its own"),
            ));
        }
    }
    for (number, event) in scenario.events.iter().enumerate() {
        let place = event.place(number);
        if event.at > end {
            return late(place, "it happens", event.at);
        }
        if event
            .pause
            .as_ref()
            .is_some_and(|pause| pause.lasts.0.get() == 0)
        {
            return Err(ScenarioError::wrong(
                place,
                "the pause lasts no time; say how long",
            ));
        }
    }
    Ok(())
}
