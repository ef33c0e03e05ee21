//! Files of JSON whose `format` and `version` say what they are.

use serde::Deserialize;
use serde::de::DeserializeOwned;

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

/// Reads a file of a format and version; `of` says which a file that fits the structure names. A file that does not fit is told by its
/// header, if that is another's: only then is it read a second time.
///
/// # Errors
/// [`HeaderError`].
pub fn read_with_header<T: DeserializeOwned>(
    text: &str,
    (format, version): (&str, u32),
    of: impl Fn(&T) -> (&str, u32),
) -> Result<T, HeaderError> {
    let file = serde_json::from_str::<T>(text);
    let header = match &file {
        Ok(file) => {
            let (format, version) = of(file);
            Header {
                format: Some(format.to_owned()),
                version: Some(version),
            }
        }
        Err(_) => serde_json::from_str(text).map_err(HeaderError::Json)?,
    };
    if header.format.as_deref() != Some(format) {
        let missing = || "missing".to_owned();
        let found = header.format.map_or_else(missing, |f| format!("\"{f}\""));
        return Err(HeaderError::Format(found));
    }
    match header.version {
        Some(found) if found != version => Err(HeaderError::Version(found)),
        _ => file.map_err(HeaderError::Json),
    }
}
