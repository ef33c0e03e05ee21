//! Why a file was not read, and where in it.

use p4ir::ValidationError;

/// Why a BMv2 JSON file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Bmv2Error {
    /// It is no JSON, or not of the shape of BMv2 JSON.
    #[error("not BMv2 JSON: at `{path}`: {error}")]
    Json {
        /// Where, as a path of keys and indices.
        path: String,
        /// What is wrong, with line and column.
        error: serde_json::Error,
    },
    /// A name or number refers to nothing.
    #[error("{place}: there is no {kind} `{name}`")]
    Unknown {
        /// Where the reference stands.
        place: String,
        /// What should be there.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Something that this reader does not know.
    #[error("{place}: {what} is not supported")]
    Unsupported {
        /// Where it stands.
        place: String,
        /// What it is.
        what: String,
    },
    /// The file contradicts the format.
    #[error("{place}: {why}")]
    Malformed {
        /// Where.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// The program asks for more than [`p4ir::limits`] allow.
    #[error("{0}")]
    TooLarge(ValidationError),
    /// The program read is not consistent; with a file made by p4c, a bug of this reader.
    #[error("the program read is not consistent: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<ValidationError>),
}

/// What reading a part gives.
pub(crate) type Read<T> = Result<T, Bmv2Error>;

impl Bmv2Error {
    /// With the line of the file where the object of that name begins.
    pub(crate) fn located(mut self, text: &str) -> Self {
        let place = match &mut self {
            Bmv2Error::Unknown { place, .. }
            | Bmv2Error::Unsupported { place, .. }
            | Bmv2Error::Malformed { place, .. } => place,
            Bmv2Error::Json { .. } | Bmv2Error::TooLarge(_) | Bmv2Error::Invalid(_) => return self,
        };
        if let Some(line) = line_of(text, place) {
            *place = format!("line {line}: {place}");
        }
        self
    }
}

/// The line where what `place` names stands: the value of a `name`, or else a key.
fn line_of(text: &str, place: &str) -> Option<usize> {
    let name = place.split('`').nth(1).unwrap_or(place);
    let quoted = serde_json::to_string(name).ok()?;
    let named = |at: usize| {
        text[..at]
            .trim_end()
            .strip_suffix(':')
            .is_some_and(|before| before.trim_end().ends_with("\"name\""))
    };
    let mut all = text.match_indices(&*quoted).map(|(at, _)| at);
    let at = all.clone().find(|at| named(*at)).or_else(|| all.next())?;
    Some(text[..at].matches('\n').count() + 1)
}
