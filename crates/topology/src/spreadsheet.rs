//! Comma-separated values that people open in spreadsheets.

use std::borrow::Cow;

/// Rows as comma-separated values. What a spreadsheet would take for a formula gets an apostrophe
/// in front ([`cell`]).
///
/// # Errors
/// Rows of different lengths.
pub fn text<R, C>(rows: impl IntoIterator<Item = R>) -> Result<String, csv::Error>
where
    R: IntoIterator<Item = C>,
    C: AsRef<str>,
{
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        for field in row {
            writer.write_field(cell(field.as_ref()).as_ref())?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A cell that no spreadsheet takes for a formula: names come from files of strangers, and a
/// formula can send what else is in the sheet. Text that begins with `=`, `+`, `-`, `@`, a tab or a
/// carriage return gets an apostrophe in front, which spreadsheets take for "this is text"; numbers
/// stay numbers.
#[must_use]
pub fn cell(text: &str) -> Cow<'_, str> {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let number = text.parse::<f64>().is_ok_and(f64::is_finite);
    match formula && !number {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_text_and_numbers_are_numbers() {
        let rows = [
            ["=HYPERLINK(\"x\")", "-2.5", "+1e3"],
            ["@sum", "-rf", "a=b"],
            ["\tx", "", "-"],
        ];
        let wanted = "\"'=HYPERLINK(\"\"x\"\")\",-2.5,+1e3\n'@sum,'-rf,a=b\n'\tx,,'-\n";
        assert_eq!(text(rows).as_deref().ok(), Some(wanted));
        // Words that a parser of numbers knows are names all the same.
        assert_eq!(cell("-inf"), "'-inf");
    }
}
