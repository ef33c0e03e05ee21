//! Addresses of files, as editors write them, and their paths.

use std::path::{Path, PathBuf};

use lsp_types::Uri;
use p4front::pp::normal;

/// The path of a file's address; the address itself if it is none of a file.
pub(crate) fn path_of(uri: &Uri) -> PathBuf {
    let text = uri.as_str();
    let Some(path) = text.strip_prefix("file://") else {
        return PathBuf::from(text);
    };
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    normal(Path::new(&*String::from_utf8_lossy(&bytes)))
}

/// The address of a file.
pub(crate) fn uri_of(path: &Path) -> Option<Uri> {
    let text = path.to_str()?;
    if !path.is_absolute() {
        return text.parse().ok();
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_.~".contains(&b);
    let mut address = "file://".to_owned();
    for byte in text.bytes() {
        match plain(byte) {
            true => address.push(char::from(byte)),
            false => address += &format!("%{byte:02X}"),
        }
    }
    address.parse().ok()
}
