//! What stands in a place decides how it is written.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use files::{FileError, MARK, claim, write};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_new_file_has_an_ordinary_mode_and_its_folders_are_made() {
    let folder = folder();
    let path = folder.path().join("a/b/c.json");
    write(&path, b"x").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"x");
    let ordinary = folder.path().join("ordinary");
    File::create(&ordinary).unwrap();
    assert_eq!(mode(&path), mode(&ordinary));
}

#[test]
fn a_file_keeps_its_mode_and_owner() {
    let folder = folder();
    let path = folder.path().join("f");
    fs::write(&path, "old and longer").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    if root() {
        chown(&path, Some(1234), Some(4321)).unwrap();
    }
    let before = fs::metadata(&path).unwrap();
    write(&path, b"new").unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(mode(&path), 0o640);
    assert_eq!((before.uid(), before.gid()), (after.uid(), after.gid()));
    assert_ne!(before.ino(), after.ino(), "written beside, then renamed");
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_written() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("there")).unwrap();
    fs::write(at("there/target"), "old").unwrap();
    symlink("there/target", at("link")).unwrap();
    symlink("link", at("second")).unwrap();
    symlink("there/none-yet", at("dangling")).unwrap();
    write(&at("second"), b"new").unwrap();
    write(&at("dangling"), b"made").unwrap();
    for link in ["link", "second", "dangling"] {
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
    }
    assert_eq!(fs::read(at("there/target")).unwrap(), b"new");
    assert_eq!(fs::read(at("there/none-yet")).unwrap(), b"made");
    symlink("round", at("round")).unwrap();
    assert!(matches!(
        write(&at("round"), b"x"),
        Err(FileError::Io { .. })
    ));
}

#[test]
fn a_file_of_two_names_stays_one_file() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("one"), "old and longer").unwrap();
    fs::hard_link(at("one"), at("two")).unwrap();
    write(&at("one"), b"new").unwrap();
    assert_eq!(fs::read(at("two")).unwrap(), b"new");
}

#[test]
fn devices_and_pipes_are_written_through() {
    let full = write(Path::new("/dev/full"), b"x").unwrap_err();
    assert!(full.to_string().contains("/dev/full"), "{full}");
    write(Path::new("/dev/null"), b"x").unwrap();
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );

    let folder = folder();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let reader = pipe.clone();
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        File::open(reader)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        text
    });
    write(&pipe, b"through").unwrap();
    assert_eq!(read.join().unwrap(), "through");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn what_is_read_only_or_a_folder_is_refused() {
    let folder = folder();
    let path = folder.path().join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(write(&path, b"x"), Err(FileError::ReadOnly(_))));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert!(matches!(
        write(folder.path(), b"x"),
        Err(FileError::IsFolder(_))
    ));
}

#[test]
fn errors_name_what_the_user_named() {
    let error = write(Path::new("/proc/none/x.json"), b"x").unwrap_err();
    assert!(error.to_string().contains("/proc/none/x.json"), "{error}");
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = write(&file.join("x.json"), b"x").unwrap_err().to_string();
    let named = format!("`{}`", file.display());
    assert!(error.contains(&named), "{error}");
}

#[test]
fn a_marked_folder_is_taken_again_and_a_foreign_one_is_not() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    claim(&at("new/one"), "simulation report").unwrap();
    fs::write(at("new/one/report.html"), "").unwrap();
    claim(&at("new/one"), "simulation report").unwrap();
    let other = claim(&at("new/one"), "tour").unwrap_err().to_string();
    assert!(other.contains("a simulation report"), "{other}");

    fs::create_dir(at("build")).unwrap();
    fs::write(at("build/manifest.json"), "{}").unwrap();
    let build = claim(&at("build"), "simulation report").unwrap_err();
    assert!(build.to_string().contains("holds a build"), "{build}");
    fs::create_dir(at("foreign")).unwrap();
    fs::write(at("foreign/letter"), "").unwrap();
    assert!(matches!(
        claim(&at("foreign"), "tour"),
        Err(FileError::Foreign { .. })
    ));
    assert!(!at("foreign").join(MARK).exists());
}
