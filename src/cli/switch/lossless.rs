//! `switch --lossless`: what the shared buffer of the process is like.

use std::path::Path;

use device::buffer::{Buffer, BufferConfig};
use p4gen::build::BuildDirectory;
use quantities::PortId;
use simulator::simulate::{LosslessFile, lossless_of_plan};
use spec::Speed;

use super::super::check;
use super::super::fault::{Context, Fault};
use super::super::terminal::{self, Terminal};
use super::args::Switch;

impl Switch {
    /// The buffer that `--lossless` asks for.
    ///
    /// # Errors
    /// A file that is none, a folder that is not of a build directory, ports that do not fit.
    pub(super) fn lossless(
        &self,
        ports: &[PortId],
        terminal: &Terminal,
    ) -> Result<Option<BufferConfig>, Fault> {
        let Some(path) = &self.lossless else {
            return Ok(None);
        };
        let place = path.display().to_string();
        let mut config = if path.is_dir() {
            of_directory(path, ports, self, terminal)?
        } else {
            let text = terminal::read(&place)?;
            let mut file = LosslessFile::from_yaml(&text).input(&place)?;
            if let Some(rate) = self.port_rate {
                file.rate = Speed(rate);
                file.ports.values_mut().for_each(|port| port.rate = None);
            }
            file.config(ports, self.device_id).input(&place)?
        };
        config.seed = self.seed;
        Buffer::new(config.clone()).input(&place)?;
        Ok(Some(config))
    }
}

/// The switch of `BUILD/switches/NAME`, with the rates and cables of its topology and the lossless
/// priorities of its plan.
fn of_directory(
    path: &Path,
    ports: &[PortId],
    arguments: &Switch,
    terminal: &Terminal,
) -> Result<BufferConfig, Fault> {
    let place = path.display().to_string();
    let wrong = || {
        Fault::input(format!(
            "--lossless {place}: not a switch of a build directory"
        ))
        .help("name its folder, as in build/switches/leaf1, or a file")
    };
    let whole = std::fs::canonicalize(path).input(&place)?;
    let name = whole
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(wrong)?;
    let build = whole.parent().and_then(Path::parent).ok_or_else(wrong)?;
    let directory = BuildDirectory::open(build).map_err(|_| wrong())?;
    let plan = check::prove(check::load_built(&directory)?, terminal)?;
    let switch = plan.topology().switch_named(name).map_err(|_| wrong())?;
    let mut config = lossless_of_plan(&plan, switch, arguments.port_rate).input(&place)?;
    if let Some(port) = ports
        .iter()
        .find(|port| !config.ports.iter().any(|p| p.port == **port))
    {
        return Err(
            Fault::input(format!("--lossless {place}: `{name}` has no port {port}"))
                .help("`switchwright topo show` lists its ports"),
        );
    }
    config.ports.retain(|port| ports.contains(&port.port));
    Ok(config)
}
