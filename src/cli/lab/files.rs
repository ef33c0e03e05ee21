//! The page's files: those that were put into this program when it was built, or those of a folder.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::fault::{Context, Fault};

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Where `cargo xtask page` puts the page, below the checkout.
const BUILT: &str = "page/dist";

/// The largest file of a page, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Files by their path below the page's address.
pub(super) struct Files(BTreeMap<String, Cow<'static, [u8]>>);

impl Files {
    /// The folder that was asked for; else what this program has; else what was built in the
    /// checkout that it is started in.
    pub(super) fn find(folder: Option<&Path>) -> Result<Self, Fault> {
        if let Some(folder) = folder {
            return Self::read(folder);
        }
        if !EMBEDDED.is_empty() {
            let files = EMBEDDED.iter();
            let files = files.map(|(name, bytes)| ((*name).to_owned(), Cow::Borrowed(*bytes)));
            return Ok(Self(files.collect()));
        }
        if Path::new(BUILT).join("index.html").is_file() {
            return Self::read(Path::new(BUILT));
        }
        Err(Fault::input(format!("this program was built without the page: {ABSENT}")).help(
            "take the binary of a release, or install Node.js 20 with npm and build this program again with SWITCHWRIGHT_PAGE=required",
        ))
    }

    fn read(folder: &Path) -> Result<Self, Fault> {
        if !folder.join("index.html").is_file() {
            let problem = format!(
                "{}: there is no page: it has no index.html",
                folder.display()
            );
            return Err(Fault::input(problem).help("`cargo xtask page` makes one"));
        }
        let mut files = BTreeMap::new();
        for below in ["", "assets"] {
            let place = folder.join(below);
            let entries = std::fs::read_dir(&place).input(place.display())?;
            for entry in entries {
                let path = entry.input(place.display())?.path();
                let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                    continue;
                };
                let length = path.metadata().input(path.display())?;
                if !length.is_file() {
                    continue;
                }
                if length.len() > MAX_BYTES {
                    let problem = format!(
                        "{}: files of a page have at most {MAX_BYTES} bytes",
                        path.display()
                    );
                    return Err(Fault::input(problem));
                }
                let name = match below {
                    "" => name.to_owned(),
                    below => format!("{below}/{name}"),
                };
                files.insert(name, std::fs::read(&path).input(path.display())?.into());
            }
        }
        Ok(Self(files))
    }

    /// A file and its kind; the page itself under the empty name, told that its engine is here.
    pub(super) fn get(&self, name: &str) -> Option<(&'static str, Cow<'_, [u8]>)> {
        if matches!(name, "" | "index.html") {
            let page = self.0.get("index.html")?;
            let page = String::from_utf8_lossy(page).replace(
                r#"name="engine" content="wasm""#,
                r#"name="engine" content="local""#,
            );
            return Some((kind("index.html"), page.into_bytes().into()));
        }
        let bytes = self.0.get(name)?;
        Some((kind(name), Cow::Borrowed(bytes)))
    }
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}
