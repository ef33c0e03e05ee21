//! Tests of `build.rs`, which puts the page into the command: with tools in the place of npm and
//! Node.js, so that nothing is fetched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Builds a page of two files and an engine.
const NPM: &str = r#"#!/bin/sh
case "$1" in
--version) echo 11.0.0 ;;
ci) /bin/mkdir node_modules ;;
run)
  test -f src/engine.wasm && test -f src/screens/plan.ts || exit 1
  /bin/mkdir -p dist/assets
  echo '<!doctype html>' >dist/index.html
  echo '1' >dist/assets/a.js
  echo >dist/assets/engine.wasm ;;
esac
"#;

/// Has no network.
const NPM_ALONE: &str = r#"#!/bin/sh
case "$1" in
--version) echo 11.0.0 ;;
*) echo 'npm error code ENOTFOUND' >&2; exit 1 ;;
esac
"#;

/// A checkout, the tools on `PATH` and what the script puts out.
struct Case {
    folder: PathBuf,
}

/// What the script did.
struct Outcome {
    succeeded: bool,
    said: String,
    page: String,
}

impl Case {
    fn new(name: &str) -> Self {
        let folder = format!("build-script-{name}-{}", std::process::id());
        let case = Self {
            folder: std::env::temp_dir().join(folder),
        };
        for file in [
            "page/package.json",
            "page/src/main.ts",
            "page/src/screens/plan.ts",
        ] {
            case.write(file, "x");
        }
        for file in [
            "index.html",
            "package-lock.json",
            "tsconfig.json",
            "vite.config.ts",
        ] {
            case.write(&format!("page/{file}"), "x");
        }
        for folder in ["bin", "out"] {
            fs::create_dir_all(case.folder.join(folder)).expect("room");
        }
        case
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.folder.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("room");
        fs::write(path, text).expect("room");
    }

    fn tool(&self, name: &str, text: &str) {
        self.write(&format!("bin/{name}"), text);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.folder.join("bin").join(name), mode).expect("it is ours");
    }

    fn tools(&self, npm: &str, node: &str) {
        self.tool("npm", npm);
        self.tool("node", &format!("#!/bin/sh\necho {node}\n"));
    }

    fn run(&self, asked: Option<&str>) -> Outcome {
        let mut script = Command::new(script());
        script.env_clear().current_dir(&self.folder);
        script.env("PATH", self.folder.join("bin"));
        script.env("CARGO_MANIFEST_DIR", &self.folder);
        script.env("OUT_DIR", self.folder.join("out"));
        script.envs(asked.map(|asked| ("SWITCHWRIGHT_PAGE", asked)));
        let output = script.output().expect("it starts");
        let said = [output.stdout, output.stderr].concat();
        Outcome {
            succeeded: output.status.success(),
            said: String::from_utf8_lossy(&said).into_owned(),
            page: fs::read_to_string(self.folder.join("out/page.rs")).unwrap_or_default(),
        }
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The script, compiled once.
fn script() -> &'static Path {
    static SCRIPT: OnceLock<PathBuf> = OnceLock::new();
    SCRIPT.get_or_init(|| {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp");
        fs::create_dir_all(&place).expect("room");
        let place = place.join(format!("build-script-{}", std::process::id()));
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        let mut compile = Command::new(rustc);
        compile
            .args(["--edition", "2024", "-D", "warnings", "-o"])
            .arg(&place);
        compile.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../build.rs"));
        assert!(compile.status().expect("rustc").success());
        place
    })
}

#[test]
fn npm_builds_the_page_outside_the_checkout() {
    let case = Case::new("all");
    case.tools(NPM, "v22.1.0");
    case.write("page/src/engine.wasm", "large");
    for asked in [None, Some(""), Some("required")] {
        let done = case.run(asked);
        assert!(done.succeeded, "{}", done.said);
        assert!(!done.said.contains("cargo::warning"), "{}", done.said);
        for file in ["\"index.html\"", "\"assets/a.js\"", "ABSENT: &str = \"\""] {
            assert!(done.page.contains(file), "{}", done.page);
        }
        assert!(!done.page.contains(".wasm"), "{}", done.page);
    }
    for left in ["page/node_modules", "page/dist", "out/page/node_modules"] {
        assert!(!case.folder.join(left).exists(), "{left}");
    }
}

#[test]
fn the_page_is_built_again_when_a_source_changes_and_only_then() {
    let case = Case::new("again");
    case.tools(NPM, "v20.0.0");
    case.write("page/src/engine.wasm", "large");
    let said = case.run(None).said;
    for source in ["src/screens/plan.ts", "package-lock.json", "index.html"] {
        assert!(
            said.contains(&format!("rerun-if-changed=page/{source}\n")),
            "{said}"
        );
    }
    // A folder would stand for all files in it, and the engine is built after the command.
    assert!(!said.contains("engine.wasm"), "{said}");
    for line in said
        .lines()
        .filter_map(|line| line.strip_prefix("cargo::rerun-if-changed="))
    {
        let path = case.folder.join(line);
        assert!(line == "build.rs" || path.is_file(), "{line}");
    }
}

#[test]
fn libraries_of_the_checkout_are_used_where_they_are_complete() {
    let case = Case::new("libraries");
    case.tools(&NPM.replace("ci)", "ci) exit 1;;\nx)"), "v20.0.0");
    case.write("page/node_modules/.package-lock.json", "{}");
    let done = case.run(Some("required"));
    assert!(done.succeeded, "{}", done.said);
    assert!(
        case.folder
            .join("page/node_modules/.package-lock.json")
            .is_file()
    );
}

#[test]
fn a_build_of_the_page_that_fails_leaves_it_out_with_a_warning() {
    let case = Case::new("fails");
    for (npm, node, why) in [
        (NPM_ALONE, "v22.1.0", "ENOTFOUND"),
        (NPM, "v18.20.4", "v18.20.4"),
    ] {
        case.tools(npm, node);
        let done = case.run(None);
        assert!(done.succeeded, "{}", done.said);
        let mut lines = done.said.lines();
        let warning = lines.find(|line| line.starts_with("cargo::warning="));
        assert!(
            warning.is_some_and(|line| line.contains(why)),
            "{}",
            done.said
        );
        assert!(
            done.page.contains("= &[\n];") && done.page.contains(why),
            "{}",
            done.page
        );
        let required = case.run(Some("required"));
        assert!(
            !required.succeeded && required.said.contains(why),
            "{}",
            required.said
        );
    }
}

#[test]
fn without_npm_or_sources_the_page_is_left_out() {
    let case = Case::new("none");
    let done = case.run(None);
    assert!(
        done.succeeded && !done.said.contains("cargo::warning"),
        "{}",
        done.said
    );
    assert!(
        done.page.contains("`npm` was not found on PATH"),
        "{}",
        done.page
    );
    assert!(!case.run(Some("required")).succeeded);
    case.tools(NPM, "v22.1.0");
    let done = case.run(Some("none"));
    assert!(
        done.succeeded && done.page.contains("= &[\n];"),
        "{}",
        done.page
    );
    fs::remove_dir_all(case.folder.join("page")).expect("it is ours");
    let done = case.run(None);
    assert!(
        done.succeeded && done.page.contains("no sources of the page"),
        "{}",
        done.page
    );
}

#[test]
fn a_folder_is_taken_as_it_is() {
    let case = Case::new("folder");
    case.write("built/index.html", "<!doctype html>");
    case.write("built/assets/b.js", "2");
    let done = case.run(Some("built"));
    assert!(
        done.succeeded && done.page.contains("\"assets/b.js\""),
        "{}",
        done.said
    );
    let done = case.run(Some("nowhere"));
    assert!(
        !done.succeeded && done.said.contains("nowhere"),
        "{}",
        done.said
    );
}
