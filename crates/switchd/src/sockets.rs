//! Unix sockets with a place in the file system: what a killed process left is removed, what a
//! living one has is not.
//!
//! A socket is dead when nobody is behind its file: connecting is refused. That is so for an
//! instant too between the making of a file and the moment when its owner listens, so files are
//! made, looked at and removed only with their folder locked.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Others lock a folder for an instant only; who keeps it longer is none of us, and is not waited
/// for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Between two tries to lock it.
const PAUSE: Duration = Duration::from_millis(2);

/// The file of a socket; removed with this, if it is still the same one.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and number of the file.
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && self.identity == identity(&self.path) {
            // It may be gone already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Locks a folder until the file is dropped; `None` where that is not possible.
fn locked(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    let until = Instant::now() + LOCK_TIMEOUT;
    loop {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(PAUSE);
            }
            Err(_) => return None,
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a socket at a path with `bind`, in the place of a dead one if need be; `connect` tries to
/// reach what is there.
///
/// # Errors
/// [`io::ErrorKind::AddrInUse`] if somebody answers there, or it is no socket; what `bind` says
/// otherwise.
pub(crate) fn bind<T, C>(
    path: &Path,
    bind: impl Fn(&Path) -> io::Result<T>,
    connect: impl FnOnce(&Path) -> io::Result<C>,
) -> io::Result<(T, SocketFile)> {
    let _locked = locked(folder_of(path));
    let socket = match bind(path) {
        Err(e) if e.kind() == io::ErrorKind::AddrInUse && is_dead(path, connect) => {
            fs::remove_file(path)?;
            bind(path)
        }
        other => other,
    }?;
    let file = SocketFile {
        path: path.to_owned(),
        identity: identity(path),
    };
    Ok((socket, file))
}

fn is_dead<C>(path: &Path, connect: impl FnOnce(&Path) -> io::Result<C>) -> bool {
    let socket = fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    socket && connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
}

/// Removes the dead stream sockets of a folder whose names `ours` knows, and links to sockets that
/// are not there.
pub(crate) fn sweep(folder: &Path, ours: impl Fn(&str) -> bool) {
    let Some(_locked) = locked(folder) else {
        return;
    };
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in found.map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(&ours) {
            continue;
        }
        let dangling = path.is_symlink() && !path.exists();
        if dangling || is_dead(&path, |path| std::os::unix::net::UnixStream::connect(path)) {
            tracing::debug!(path = %path.display(), "a dead socket is removed");
            // Another may have done so.
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn listen(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
        bind(
            path,
            |path| UnixListener::bind(path),
            |path| UnixStream::connect(path),
        )
    }

    #[test]
    fn dead_sockets_give_way_and_living_ones_and_files_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        drop(UnixListener::bind(&path).unwrap());
        let (living, file) = listen(&path).unwrap();
        let refused = listen(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
        drop(file);
        assert!(!path.exists(), "the file goes with its owner");

        // What has taken its place meanwhile is not ours to remove.
        let (_other, file) = listen(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let (_third, kept) = listen(&path).unwrap();
        drop(file);
        assert!(path.exists());
        drop((living, kept));

        fs::write(&path, "no socket").unwrap();
        assert!(listen(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "no socket");
    }

    #[test]
    fn a_sweep_removes_what_is_dead_and_ours() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["switch-1.sock", "other-1.sock"] {
            drop(UnixListener::bind(at(name)).unwrap());
        }
        let _living = UnixListener::bind(at("switch-2.sock")).unwrap();
        fs::write(at("switch-3.sock"), "no socket").unwrap();
        for (link, to) in [
            ("switch-4.sock", "switch-1.sock"),
            ("switch-5.sock", "switch-2.sock"),
        ] {
            std::os::unix::fs::symlink(at(to), at(link)).unwrap();
        }
        sweep(folder.path(), |name| name.starts_with("switch-"));
        // The order of a folder's names is nobody's: a second sweep finds links that the first made
        // dangle.
        sweep(folder.path(), |name| name.starts_with("switch-"));
        let left = |name: &str| at(name).is_symlink() || at(name).exists();
        let names: Vec<u8> = (1..=5)
            .filter(|n| left(&format!("switch-{n}.sock")))
            .collect();
        assert_eq!(names, [2, 3, 5]);
        assert!(left("other-1.sock"));
    }
}
