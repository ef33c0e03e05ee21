//! Puts the judges' files of all labs into the library: cases come with the program that grades,
//! not from what is graded.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What judges read of a lab: these files, and everything in these folders.
const PARTS: [&str; 5] = ["cases", "given", "given.yaml", "lab.yaml", "programs"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let labs = fs::canonicalize(PathBuf::from(manifest).join("labs"))?;
    println!("cargo::rerun-if-changed={}", labs.display());
    let mut text = String::from("const COMMON: Files = &[\n");
    put(&mut text, &labs.join("common"), "")?;
    text.push_str("];\nconst LABS: &[Builtin] = &[\n");
    for lab in sorted(&labs)? {
        if !lab.join("lab.yaml").is_file() {
            continue;
        }
        let name = lab.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(text, "Builtin {{ name: {name:?}, files: &[");
        for part in PARTS {
            put(&mut text, &lab, part)?;
        }
        text.push_str("] },\n");
    }
    text.push_str("];\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo says no OUT_DIR"))?;
    fs::write(Path::new(&out).join("labs.rs"), text)
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// A file, or all files of a folder.
fn put(text: &mut String, root: &Path, below: &str) -> io::Result<()> {
    let path = root.join(below);
    if path.is_dir() {
        for inner in sorted(&path)? {
            let name = inner.strip_prefix(root).unwrap_or(&inner);
            put(text, root, &name.to_string_lossy())?;
        }
    } else if path.is_file() {
        let place = path.display().to_string();
        let _ = writeln!(text, "({below:?}, include_bytes!({place:?})),");
    }
    Ok(())
}
