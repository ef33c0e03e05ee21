//! What switches hold: files by the switch's name, as lines of simple_switch_CLI.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use p4front::source::SourceMap;
use p4front::{Compiled, Options};
use p4gen::entries::{commands, runtime_json};
use p4runtime::P4InfoIndex;
use topology::Topology;

use super::{NetLabError, NetOptions};

/// Entries by switch: the file that they come from, and lines.
pub(super) struct Entries(BTreeMap<String, (String, String)>);

/// Where the entries of a switch may be, in order.
fn places(folder: &Path, switch: &str) -> [PathBuf; 4] {
    [
        folder.join(format!("{switch}-runtime.json")),
        folder.join(format!("{switch}-commands.txt")),
        folder.join("switches").join(switch).join("runtime.json"),
        folder.join("switches").join(switch).join("commands.txt"),
    ]
}

/// Compiles the program; what is wrong with it is rendered.
pub(super) fn compile(program: &Path) -> Result<Compiled, NetLabError> {
    let mut map = SourceMap::new();
    let main = map
        .load(program)
        .map_err(|e| NetLabError::Program(e.to_string()))?;
    p4front::compile(&mut map, main, &Options::on_disk())
        .map_err(|found| NetLabError::Program(found.render(&map)))
}

impl Entries {
    /// Reads what there is for the switches of a network.
    pub(super) fn find(
        topology: &Topology,
        options: &NetOptions,
        compiled: &Compiled,
    ) -> Result<Self, NetLabError> {
        let mut found = BTreeMap::new();
        let Some(folder) = &options.entries else {
            return Ok(Self(found));
        };
        for switch in topology.switch_ids() {
            let name = &topology.switch(switch).name;
            let Some(path) = places(folder, name).into_iter().find(|path| path.is_file()) else {
                continue;
            };
            let place = path.display().to_string();
            let wrong = |why: String| NetLabError::Entries {
                place: place.clone(),
                why,
            };
            let text = std::fs::read_to_string(&path).map_err(|e| wrong(e.to_string()))?;
            let lines = match path.extension().is_some_and(|e| e == "json") {
                false => text,
                true => {
                    let info = P4InfoIndex::new(compiled.p4info.clone())
                        .map_err(|e| wrong(e.to_string()))?;
                    let (entries, _) =
                        runtime_json::read(name, &text, &info).map_err(|e| wrong(e.to_string()))?;
                    commands::write(&entries, &info).map_err(|e| wrong(e.to_string()))?
                }
            };
            found.insert(name.clone(), (place, lines));
        }
        if found.is_empty() {
            return Err(NetLabError::Entries {
                place: folder.display().to_string(),
                why: "no entries here for any switch: they are called SWITCH-runtime.json or SWITCH-commands.txt, and a build directory has them if it was built with `--formats commands`".to_owned(),
            });
        }
        Ok(Self(found))
    }

    pub(super) fn of(&self, switch: &str) -> Option<&(String, String)> {
        self.0.get(switch)
    }
}
