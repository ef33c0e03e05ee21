//! Files of JSON whose `format` and `version` say what they are.

use serde::Deserialize;

/// What tells files from others.
#[derive(Debug, Deserialize)]
struct Header {
    format: Option<String>,
    version: Option<u32>,
}

/// Why a file is not read.
#[derive(Debug)]
pub enum HeaderError {
    /// Not JSON, or not of the structure.
    Json(serde_json::Error),
    /// Another kind of file: its `format`, in quotes, or that there is none.
    Format(String),
    /// Another version.
    Version(u32),
}

/// Reads a file of a format and version; `of` says which a file that fits the structure names. A
/// file that does not fit is told by its header, if that is another's: only then is it read a
/// second time.
///
/// # Errors
/// [`HeaderError`].
pub fn read_with_header<'t, T: Deserialize<'t>>(
    text: &'t str,
    expected: (&str, u32),
    of: impl Fn(&T) -> (&str, u32),
) -> Result<T, HeaderError> {
    let file = serde_json::from_str::<T>(text);
    match &file {
        Ok(file) => {
            let (format, version) = of(file);
            check_header((Some(format), Some(version)), expected)?;
        }
        Err(_) => {
            let found: Header = serde_json::from_str(text).map_err(HeaderError::Json)?;
            check_header((found.format.as_deref(), found.version), expected)?;
        }
    }
    file.map_err(HeaderError::Json)
}

/// What is wrong with a YAML file, with the place and the line that stands there. A caller adds the
/// name of the file.
#[must_use]
pub fn yaml_problem(text: &str, error: &serde_saphyr::Error) -> String {
    let error = error.without_snippet();
    let line = error.location().and_then(|place| {
        let number = usize::try_from(place.line()).ok()?;
        text.lines().nth(number.checked_sub(1)?)
    });
    match line.map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => format!("{error}: `{line}`"),
        None => error.to_string(),
    }
}

/// Whether a file that says this of itself is of a format and version. What says nothing of its
/// version is not of another.
///
/// # Errors
/// [`HeaderError`].
pub(crate) fn check_header(
    (format, version): (Option<&str>, Option<u32>),
    expected: (&str, u32),
) -> Result<(), HeaderError> {
    if format != Some(expected.0) {
        let missing = || "missing".to_owned();
        let found = format.map_or_else(missing, |format| format!("\"{format}\""));
        return Err(HeaderError::Format(found));
    }
    match version {
        Some(found) if found != expected.1 => Err(HeaderError::Version(found)),
        _ => Ok(()),
    }
}
