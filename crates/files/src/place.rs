//! What stands where a file is to be written, and how it is replaced.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::{FileError, at, make_folder};

/// Links that one path may go through; Linux follows as many.
const MAX_LINKS: usize = 40;
/// The mode of a new file, before the umask.
const NEW_MODE: u32 = 0o666;

/// How a path is to be written.
pub(crate) enum Place {
    /// Beside its place, then renamed.
    Beside(Beside),
    /// To what stands there: a device, a pipe, or a file that a rename would part from its other
    /// names or its owner.
    Through(File),
}

/// A regular file, or none yet.
pub(crate) struct Beside {
    /// Where links lead.
    target: PathBuf,
    old: Option<Metadata>,
}

impl Place {
    pub(crate) fn of(path: &Path) -> Result<Self, FileError> {
        // A descriptor of this process: what it leads to is the caller's, at the place that it
        // stands at.
        if is_descriptor(path) {
            return through(path, OpenOptions::new().append(true)).map_err(at(path));
        }
        let target = follow(path).map_err(at(path))?;
        if let Some(folder) = target.parent().filter(|f| !f.as_os_str().is_empty()) {
            make_folder(folder)?;
        }
        let old = match fs::symlink_metadata(&target) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::Beside(Beside { target, old: None }));
            }
            Err(error) => return Err(at(path)(error)),
        };
        if old.is_dir() {
            return Err(FileError::IsFolder(path.to_owned()));
        }
        if !old.is_file() {
            return through(&target, OpenOptions::new().append(true)).map_err(at(path));
        }
        if old.mode() & 0o222 == 0 {
            return Err(FileError::ReadOnly(path.to_owned()));
        }
        if old.nlink() > 1 {
            let mut open = OpenOptions::new();
            return through(&target, open.write(true).truncate(true)).map_err(at(path));
        }
        Ok(Self::Beside(Beside {
            target,
            old: Some(old),
        }))
    }
}

fn through(path: &Path, open: &OpenOptions) -> io::Result<Place> {
    Ok(Place::Through(open.open(path)?))
}

fn is_descriptor(path: &Path) -> bool {
    let links = ["/dev/stdout", "/dev/stderr"];
    links.iter().any(|link| path == Path::new(link))
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc")
}

/// Where a path's last component leads in the end; what it leads to need not exist.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = match path.parent() {
            Some(folder) => folder.join(next),
            None => next,
        };
    }
    Err(io::Error::other("too many symbolic links"))
}

impl Beside {
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Writes the new file and puts it in the old one's place; `durably` waits for the disk.
    pub(crate) fn replace(&self, bytes: &[u8], durably: bool) -> io::Result<()> {
        let folder = match self.target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = Builder::new()
            .permissions(Permissions::from_mode(NEW_MODE))
            .tempfile_in(folder)
            .map_err(|error| error_of(&error))?;
        if let Some(old) = &self.old
            && !alike(&file, old)?
        {
            return in_place(&self.target, bytes);
        }
        file.write_all(bytes)?;
        if durably {
            file.as_file().sync_all()?;
        }
        file.persist(&self.target).map_err(|error| error.error)?;
        if durably {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

/// The bare reason: the temporary name in the message would tell the user nothing.
fn error_of(error: &io::Error) -> io::Error {
    error
        .raw_os_error()
        .map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Gives a new file the owner and mode of the old one; tells whether it could.
fn alike(file: &NamedTempFile, old: &Metadata) -> io::Result<bool> {
    let file = file.as_file();
    let new = file.metadata()?;
    let owner = (new.uid() != old.uid()).then_some(old.uid());
    let group = (new.gid() != old.gid()).then_some(old.gid());
    if (owner.is_some() || group.is_some()) && fchown(file, owner, group).is_err() {
        return Ok(false);
    }
    file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    Ok(true)
}

fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.flush()
}
