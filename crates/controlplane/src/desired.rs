//! What a build directory wants of every switch: one program, and each switch's entries.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use p4front::Files;
use p4front::source::SourceMap;
use p4gen::build::{BuildDirectory, HeldError, ManifestError};
use p4gen::capabilities::{Api, Capabilities};
use p4gen::entries::{EntriesError, bfrt, write_request};
use p4gen::targets::{SwitchFiles, V1MODEL};
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1;
use p4runtime::{P4InfoIndex, from_text};
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::sync::OnceCell;

use super::devices::DeviceRequirements;
use super::entity::{self, Entities, EntityError};
use super::error::RemoteError;
use super::p4c;

/// The default port of a BF Runtime server.
const BFRT_PORT: u16 = 50052;

/// The annotation that a generated program carries: what it was generated as.
pub const MARK: &str = "@switchwright";

/// Why a build directory says nothing usable.
#[derive(Debug, Error)]
pub enum DesiredError {
    /// A file is missing, changed, or not ours.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A file is not in its format.
    #[error("`{file}`: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// Entries do not fit the program.
    #[error(transparent)]
    Entries(#[from] EntriesError),
    /// An update does not fit the program.
    #[error("`{file}`, update {index}: {source}")]
    Entity {
        /// The file.
        file: String,
        /// The update.
        index: usize,
        /// What is wrong.
        source: EntityError,
    },
}

/// The program of a network.
#[derive(Debug)]
pub struct DesiredPipeline {
    /// Name of the program, which says all that it depends on.
    pub name: String,
    /// What it is for.
    pub target: &'static Capabilities,
    /// BF Runtime's name of it: its main file's.
    pub program: String,
    /// What its text says that it was generated as, for devices that tell so of theirs.
    pub mark: Option<String>,
    /// P4Info.
    pub info: P4InfoIndex,
    /// The whole program as one text.
    pub source: String,
    /// Our name for it: a digest of P4Info and text, never 0.
    pub cookie: u64,
    json: OnceCell<Result<Vec<u8>, String>>,
}

/// What one switch is to hold. Its entities are read when they are asked for: those of all switches
/// of a large network take gigabytes.
#[derive(Clone, Debug)]
pub struct DesiredSwitch {
    /// Its name.
    pub name: String,
    /// The device id that the plan gave it.
    pub device_id: u64,
    wanted: Wanted,
}

/// Where the entities of a switch come from.
#[derive(Clone, Debug)]
enum Wanted {
    /// Its file in a build directory.
    File(Arc<BuildDirectory>, SwitchFiles),
    /// They are here.
    Here(Arc<Entities>),
}

impl DesiredSwitch {
    /// Its entities, canonical, by the program of the network.
    ///
    /// # Errors
    /// [`DesiredError`] if its file was changed since the build directory was opened, or holds what
    /// does not fit.
    pub fn entities(&self, pipeline: &DesiredPipeline) -> Result<Arc<Entities>, DesiredError> {
        let (directory, files) = match &self.wanted {
            Wanted::Here(entities) => return Ok(Arc::clone(entities)),
            Wanted::File(directory, files) => (directory, files),
        };
        let (file, request) = match pipeline.target.api {
            Api::P4Runtime => {
                let held = directory.write_request(files);
                held.map_err(|error| unreadable(files, error))?
            }
            Api::BfRuntime => {
                let file = files.bfrt_json();
                let text = directory.read_text(&file)?;
                let (entries, _) = bfrt::read(&files.name, &text, &pipeline.info)?;
                (file, write_request::write(&entries, &pipeline.info)?)
            }
        };
        entities_of(&file, &request, &pipeline.info).map(Arc::new)
    }

    /// The same switch with other entities.
    pub(super) fn with(&self, entities: Entities) -> Self {
        Self {
            wanted: Wanted::Here(Arc::new(entities)),
            ..self.clone()
        }
    }
}

/// What a network is to hold.
#[derive(Clone, Debug)]
pub struct Desired {
    /// The program that all switches run.
    pub pipeline: Arc<DesiredPipeline>,
    /// The switches, in the plan's order.
    pub switches: Vec<DesiredSwitch>,
}

impl Desired {
    /// Opens a build directory; every file is held against the manifest.
    ///
    /// # Errors
    /// [`DesiredError`].
    pub fn open(path: &Path) -> Result<Self, DesiredError> {
        let directory = Arc::new(BuildDirectory::open(path)?);
        let pipeline = DesiredPipeline::read(&directory)?;
        let switches = directory.manifest().switches.iter();
        let switches = switches
            .map(|files| {
                // What was changed is told before any switch is spoken to.
                directory.read(&directory.entries_file(files)?)?;
                Ok(DesiredSwitch {
                    name: files.name.clone(),
                    device_id: files.device_id,
                    wanted: Wanted::File(Arc::clone(&directory), files.clone()),
                })
            })
            .collect::<Result<_, DesiredError>>()?;
        Ok(Self {
            pipeline: Arc::new(pipeline),
            switches,
        })
    }

    /// What a devices file has to say. Over BF Runtime a device id is that of a chip behind an
    /// address, mostly 0; over P4Runtime it is the switch's place in the plan.
    #[must_use]
    pub fn wanted(&self) -> DeviceRequirements {
        let target = self.pipeline.target;
        let over_bf = target.api == Api::BfRuntime;
        let switches = self.switches.iter();
        let device_id = |id| if over_bf { 0 } else { id };
        DeviceRequirements {
            switches: switches
                .map(|s| (s.name.clone(), device_id(s.device_id)))
                .collect(),
            target,
            default_port: over_bf.then_some(BFRT_PORT),
        }
    }
}

/// Why a switch's entries cannot be read.
fn unreadable(files: &SwitchFiles, error: HeldError) -> DesiredError {
    match error {
        HeldError::Manifest(error) => error.into(),
        HeldError::Entries(error) => error.into(),
        HeldError::Text(_) | HeldError::Names(_) => DesiredError::Malformed {
            file: files.entries_txtpb(),
            reason: error.to_string(),
        },
    }
}

/// The entities that a `WriteRequest` leaves behind.
fn entities_of(
    file: &str,
    request: &v1::WriteRequest,
    info: &P4InfoIndex,
) -> Result<Entities, DesiredError> {
    let mut entities = Entities::new();
    for (index, update) in request.updates.iter().enumerate() {
        let wrong = |source| DesiredError::Entity {
            file: file.to_owned(),
            index,
            source,
        };
        let entity = update.entity.as_ref();
        let entity = entity.ok_or_else(|| wrong(EntityError::Shape("it has no entity")))?;
        if let Some((key, entity)) = entity::canonical(entity, info).map_err(wrong)?
            && entities.insert(key, entity).is_some()
        {
            return Err(wrong(EntityError::Shape("the same entity comes twice")));
        }
    }
    Ok(entities)
}

impl DesiredPipeline {
    fn read(directory: &BuildDirectory) -> Result<Self, DesiredError> {
        let program = &directory.manifest().program;
        let text = directory.read_text(&program.p4info)?;
        let malformed = |reason: String| DesiredError::Malformed {
            file: program.p4info.clone(),
            reason,
        };
        let info: P4Info = from_text(&text).map_err(|error| malformed(error.to_string()))?;
        let main = directory.read_text(&program.main)?;
        let source = one_text(directory, &program.main)?;
        let pipeline = Self::new(program.name.clone(), info, source)
            .map_err(|error| malformed(error.to_string()))?;
        let stem = Path::new(&program.main).file_stem().unwrap_or_default();
        Ok(Self {
            target: directory.target()?,
            program: stem.to_string_lossy().into_owned(),
            mark: mark_in(&main),
            ..pipeline
        })
    }

    /// A program for v1model from its parts.
    ///
    /// # Errors
    /// P4Info in which two objects share a name or an id.
    pub fn new(name: String, info: P4Info, source: String) -> Result<Self, p4runtime::NameError> {
        let cookie = cookie_of(&info, &source);
        Ok(Self {
            program: name.clone(),
            name,
            target: &V1MODEL.capabilities,
            mark: None,
            info: P4InfoIndex::new(info)?,
            source,
            cookie,
            json: OnceCell::new(),
        })
    }

    /// The program as BMv2 JSON; compiled once, however many switches want it.
    ///
    /// # Errors
    /// [`RemoteError::Config`] where the compiler refuses.
    pub async fn bmv2_json(&self) -> Result<Vec<u8>, RemoteError> {
        let source = self.source.clone();
        let compile = || async {
            let task = tokio::task::spawn_blocking(move || p4c::bmv2_json(&source));
            task.await.unwrap_or_else(|error| Err(error.to_string()))
        };
        let json = self.json.get_or_init(compile).await;
        json.clone().map_err(RemoteError::Config)
    }

    /// The message that loads it, around a device config.
    #[must_use]
    pub fn message(&self, device_config: Vec<u8>) -> v1::ForwardingPipelineConfig {
        v1::ForwardingPipelineConfig {
            p4info: Some(self.info.info().clone()),
            p4_device_config: device_config,
            cookie: Some(v1::forwarding_pipeline_config::Cookie {
                cookie: self.cookie,
            }),
        }
    }

    /// Whether what a switch runs is this: the same P4Info, and our cookie or, where the server
    /// forgets cookies, one of the device configs that we send.
    #[must_use]
    pub fn runs_in(&self, config: &v1::ForwardingPipelineConfig) -> bool {
        if config.p4info.as_ref() != Some(self.info.info()) {
            return false;
        }
        let cookie = config.cookie.as_ref().map_or(0, |cookie| cookie.cookie);
        if cookie != 0 {
            return cookie == self.cookie;
        }
        let given = config.p4_device_config.as_slice();
        let json = self.json.get().and_then(|json| json.as_ref().ok());
        given == self.source.as_bytes() || json.is_some_and(|json| json == given)
    }
}

fn cookie_of(info: &P4Info, source: &str) -> u64 {
    let digest = Sha256::new()
        .chain_update(info.encode_to_vec())
        .chain_update(source)
        .finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first).max(1)
}

/// The program with its included files in their places. Only files of the directory are taken, as
/// they were built.
fn one_text(directory: &BuildDirectory, main: &str) -> Result<String, DesiredError> {
    let malformed = |reason: String| DesiredError::Malformed {
        file: main.to_owned(),
        reason,
    };
    let mut files = BTreeMap::new();
    for file in directory.manifest().files.keys() {
        if file.ends_with(".p4") {
            files.insert(directory.path(file), directory.read_text(file)?);
        }
    }
    let options = p4front::Options {
        files: Files::Memory(files),
        ..p4front::Options::default()
    };
    let mut map = SourceMap::new();
    let path = directory.path(main);
    let text = directory.read_text(main)?;
    let file = map.add(&path.to_string_lossy(), &text);
    let file = file.map_err(|error| malformed(error.to_string()))?;
    let whole = p4front::pp::one_text(&mut map, file, &options);
    whole.map_err(|found| malformed(found.render(&map)))
}

/// What follows [`MARK`] in a text: what stands in its brackets and quotes.
#[must_use]
pub fn mark_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(MARK)?;
    let rest = rest.strip_prefix("(\"")?;
    let (mark, _) = rest.split_once("\")")?;
    Some(mark.to_owned())
}
