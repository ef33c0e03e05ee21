//! `core.p4` and the other built-in files, as files that an editor can show.
//!
//! They are written to a cache folder, read-only. Virtual documents would need an extension of the
//! editor for each editor: the protocol's own way to ask a server for a text is known to few of
//! them. A file is known to all.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// Where the built-in file of this name and text is; it is written if it is not there.
pub(crate) fn path_of(name: &str, text: &str) -> Option<PathBuf> {
    let name = name.strip_prefix('<')?.strip_suffix('>')?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let folder = folder()?.join(format!("{:016x}", hasher.finish()));
    let path = folder.join(Path::new(name).file_name()?);
    if std::fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Some(path);
    }
    std::fs::create_dir_all(&folder).ok()?;
    // Under another name first: another server may write the same.
    let draft = folder.join(format!(".{}.{}", std::process::id(), name));
    std::fs::write(&draft, text).ok()?;
    let mut permissions = std::fs::metadata(&draft).ok()?.permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&draft, permissions).ok()?;
    std::fs::rename(&draft, &path).ok()?;
    Some(path)
}

fn folder() -> Option<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME").filter(|p| !p.is_empty()) {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
    };
    Some(cache.join("switchwright").join("p4include"))
}
