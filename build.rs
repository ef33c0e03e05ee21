//! Puts the page into the command where whoever builds it says so: `SWITCHWRIGHT_PAGE` names the
//! folder that `cargo xtask page` made (docs/adr/0012-page.md). The engine of a page on other
//! hosts, WebAssembly, stays out: the command is an engine itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=SWITCHWRIGHT_PAGE");
    println!("cargo::rerun-if-changed=build.rs");
    let mut text =
        String::from("/// The page's files, by path.\nconst EMBEDDED: &[(&str, &[u8])] = &[\n");
    if let Some(folder) = env::var_os("SWITCHWRIGHT_PAGE") {
        let folder = fs::canonicalize(PathBuf::from(folder))?;
        println!("cargo::rerun-if-changed={}", folder.display());
        for below in ["", "assets"] {
            list(&folder, below, &mut text)?;
        }
    }
    text.push_str("];\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo says no OUT_DIR"))?;
    fs::write(Path::new(&out).join("page.rs"), text)
}

fn list(folder: &Path, below: &str, text: &mut String) -> io::Result<()> {
    let entries = fs::read_dir(folder.join(below))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !path.is_file() || name.ends_with(".wasm") {
            continue;
        }
        let name = if below.is_empty() {
            name.into_owned()
        } else {
            format!("{below}/{name}")
        };
        let _ = writeln!(
            text,
            "    ({name:?}, include_bytes!({:?})),",
            path.display().to_string()
        );
    }
    Ok(())
}
