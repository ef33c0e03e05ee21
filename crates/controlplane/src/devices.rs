//! The devices file: which switch of a plan is where (`docs/bring-up.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use p4gen::capabilities::{Api, Capabilities};
use p4gen::targets::{self, Target};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use p4runtime::client::{ElectionId, Endpoint, Tls};

/// What [`DevicesFile::format`] says.
const FORMAT: &str = "switchwright-devices";
/// The version that this program reads.
const VERSION: u32 = 1;
/// The most names that an error lists.
const LISTED_MAX: usize = 8;

/// Why a devices file cannot be used.
#[derive(Debug, Error)]
pub enum DevicesError {
    /// Neither YAML nor JSON of this shape.
    #[error("{0}")]
    Syntax(String),
    /// Another kind of file.
    #[error("its format is `{0}`, not `{FORMAT}`")]
    Format(String),
    /// Another version.
    #[error("it has version {0}, this program reads version {VERSION}")]
    Version(u32),
    /// Switches that the plan does not have.
    #[error("it names switches that the build directory does not have: {}; there are: {}", list(.unknown), list(.known))]
    Unknown {
        /// Those names.
        unknown: Vec<String>,
        /// The plan's.
        known: Vec<String>,
    },
    /// Switches of the plan that it does not have.
    #[error("it lacks switches of the build directory: {}; give each an `address`", list(.0))]
    Missing(Vec<String>),
    /// Two switches at one place.
    #[error(
        "`{first}` and `{second}` are both at {address} with device id {device_id}: every switch needs its own"
    )]
    Shared {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// Their address.
        address: String,
        /// Their device id.
        device_id: u64,
    },
    /// An address without a port, or empty.
    #[error("`{switch}`: the address `{address}` is not HOST:PORT")]
    Address {
        /// The switch.
        switch: String,
        /// What is there.
        address: String,
    },
    /// A certificate without its key, or the other way round.
    #[error("`{0}`: a client certificate needs `cert` and `key`, both")]
    HalfIdentity(String),
    /// There is no such target.
    #[error("`{switch}`: there is no target `{target}`; there are: {}", targets())]
    NoSuchTarget {
        /// The switch.
        switch: String,
        /// What is there.
        target: String,
    },
    /// The switch is not what the build is for.
    #[error(
        "`{switch}` is of target {target}, and the build is for {build}: build with `--target {build_for}`"
    )]
    OtherTarget {
        /// The switch.
        switch: String,
        /// Its target.
        target: &'static str,
        /// The build's.
        build: &'static str,
        /// What to build for.
        build_for: &'static str,
    },
    /// BF Runtime's device ids are smaller.
    #[error("`{switch}`: BF Runtime has no device id {device_id}, they have 32 bits")]
    DeviceId {
        /// The switch.
        switch: String,
        /// What is there.
        device_id: u64,
    },
    /// Zero never becomes primary on some servers and is no sensible id.
    #[error("`{0}`: `election_id` must be at least 1")]
    ElectionZero(String),
}

fn targets() -> String {
    targets::ALL
        .map(|target| target.capabilities().target)
        .join(", ")
}

fn list(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(LISTED_MAX)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > LISTED_MAX {
        text.push_str(&format!(" and {} more", names.len() - LISTED_MAX));
    }
    text
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DevicesFile {
    /// Always `switchwright-devices`.
    format: String,
    /// Version of the format: 1.
    version: u32,
    /// What holds for every switch that does not say otherwise.
    #[serde(default)]
    defaults: Settings,
    /// The switches, by their names in the plan.
    switches: BTreeMap<String, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    address: String,
    device_id: Option<u64>,
    election_id: Option<ElectionId>,
    role: Option<String>,
    tls: Option<TlsEntry>,
    config: Option<ConfigFormat>,
    config_file: Option<PathBuf>,
    timeout: Option<f64>,
    target: Option<String>,
    p4_name: Option<String>,
    client_id: Option<u32>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    election_id: Option<ElectionId>,
    role: Option<String>,
    tls: Option<TlsEntry>,
    config: Option<ConfigFormat>,
    config_file: Option<PathBuf>,
    timeout: Option<f64>,
    target: Option<String>,
    p4_name: Option<String>,
    client_id: Option<u32>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsEntry {
    /// `false` takes a switch out of a default.
    #[serde(default = "yes")]
    enabled: bool,
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    name: Option<String>,
}

const fn yes() -> bool {
    true
}

/// As much of the file as every version has.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    version: Option<u32>,
}

/// One switch of the plan and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Name in the plan.
    pub name: String,
    /// Where it is and who we are to it.
    pub endpoint: Endpoint,
    /// What it takes as a device config.
    pub config: ConfigFormat,
    /// A device config made beforehand.
    pub config_file: Option<PathBuf>,
    /// What it is, where somebody says so.
    pub target: Option<&'static Capabilities>,
    /// BF Runtime: its name for the program, where that is not the build's.
    pub p4_name: Option<String>,
    /// BF Runtime: the number that we go by.
    pub client_id: Option<u32>,
}

/// What a switch takes as its device config.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigFormat {
    /// Find out by asking the switch to verify.
    #[default]
    Auto,
    /// The program's P4 text.
    P4,
    /// The JSON that p4c makes for BMv2.
    Bmv2Json,
}

/// What a build directory wants of a devices file.
#[derive(Clone, Debug)]
pub struct DeviceRequirements {
    /// The switches with the device ids that they have if nobody says otherwise, in the plan's
    /// order.
    pub switches: Vec<(String, u64)>,
    /// What the build is for.
    pub target: &'static Capabilities,
    /// The port of addresses that name none.
    pub default_port: Option<u16>,
}

/// The switches of a plan, in the plan's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices(Vec<Device>);

impl Devices {
    /// Reads a devices file (YAML, of which JSON is a part) for the switches of a build.
    ///
    /// Relative paths in it start at `folder`.
    ///
    /// # Errors
    /// [`DevicesError`].
    pub fn parse(
        text: &str,
        folder: &Path,
        wanted: &DeviceRequirements,
    ) -> Result<Self, DevicesError> {
        let syntax = |error: serde_saphyr::Error| DevicesError::Syntax(error.to_string());
        let head: Head = serde_saphyr::from_str(text).map_err(syntax)?;
        match head.format.as_deref() {
            Some(FORMAT) => {}
            other => return Err(DevicesError::Format(other.unwrap_or("missing").to_owned())),
        }
        if head.version != Some(VERSION) {
            return Err(DevicesError::Version(head.version.unwrap_or(0)));
        }
        let file: DevicesFile = serde_saphyr::from_str(text).map_err(syntax)?;
        same_names(&file, &wanted.switches)?;
        let mut devices = Vec::with_capacity(wanted.switches.len());
        for (name, device_id) in &wanted.switches {
            if let Some(entry) = file.switches.get(name) {
                let settings = &file.defaults;
                let device = entry.device(name, *device_id, settings, folder, wanted)?;
                wanted.fits(&device)?;
                devices.push(device);
            }
        }
        every_one_elsewhere(&devices)?;
        Ok(Self(devices))
    }

    /// The switches, in the plan's order.
    #[must_use]
    pub fn all(&self) -> &[Device] {
        &self.0
    }
}

impl DeviceRequirements {
    fn fits(&self, device: &Device) -> Result<(), DevicesError> {
        if let Some(target) = device.target
            && target.build != self.target.build
        {
            return Err(DevicesError::OtherTarget {
                switch: device.name.clone(),
                target: target.target,
                build: self.target.target,
                build_for: target.build,
            });
        }
        let device_id = device.endpoint.device_id;
        if self.target.api == Api::BfRuntime && u32::try_from(device_id).is_err() {
            return Err(DevicesError::DeviceId {
                switch: device.name.clone(),
                device_id,
            });
        }
        Ok(())
    }
}

/// A devices file for these switches at these addresses.
#[must_use]
pub fn write(addresses: &[(String, String)]) -> String {
    let mut text = format!("format: {FORMAT}\nversion: {VERSION}\nswitches:\n");
    for (name, address) in addresses {
        // JSON strings are YAML strings.
        let name = serde_json::Value::from(name.as_str());
        let address = serde_json::Value::from(address.as_str());
        text.push_str(&format!("  {name}: {{address: {address}}}\n"));
    }
    text
}

fn same_names(file: &DevicesFile, switches: &[(String, u64)]) -> Result<(), DevicesError> {
    let known: BTreeSet<&String> = switches.iter().map(|(name, _)| name).collect();
    let given = file.switches.keys();
    let unknown: Vec<String> = given.filter(|n| !known.contains(n)).cloned().collect();
    if !unknown.is_empty() {
        return Err(DevicesError::Unknown {
            unknown,
            known: switches.iter().map(|(name, _)| name.clone()).collect(),
        });
    }
    let missing = switches.iter().map(|(name, _)| name);
    let missing: Vec<String> = missing
        .filter(|name| !file.switches.contains_key(*name))
        .cloned()
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(DevicesError::Missing(missing))
    }
}

fn every_one_elsewhere(devices: &[Device]) -> Result<(), DevicesError> {
    let mut places = BTreeMap::new();
    for device in devices {
        let place = (&device.endpoint.address, device.endpoint.device_id);
        if let Some(first) = places.insert(place, &device.name) {
            return Err(DevicesError::Shared {
                first: first.clone(),
                second: device.name.clone(),
                address: device.endpoint.address.clone(),
                device_id: device.endpoint.device_id,
            });
        }
    }
    Ok(())
}

impl Entry {
    fn device(
        &self,
        name: &str,
        device_id: u64,
        defaults: &Settings,
        folder: &Path,
        wanted: &DeviceRequirements,
    ) -> Result<Device, DevicesError> {
        let election_id = self.election_id.or(defaults.election_id);
        if election_id == Some(ElectionId(0)) {
            return Err(DevicesError::ElectionZero(name.to_owned()));
        }
        let tls = self.tls.as_ref().or(defaults.tls.as_ref());
        let tls = tls.filter(|tls| tls.enabled);
        let timeout = self.timeout.or(defaults.timeout).unwrap_or(30.0);
        let seconds = Duration::try_from_secs_f64(timeout).ok();
        let timeout = seconds.filter(|t| !t.is_zero()).ok_or_else(|| {
            DevicesError::Syntax(format!(
                "`{name}`: `timeout` is a positive number of seconds"
            ))
        })?;
        let config_file = self.config_file.as_ref().or(defaults.config_file.as_ref());
        let role = self.role.clone().or_else(|| defaults.role.clone());
        let target = self.target.as_ref().or(defaults.target.as_ref());
        let target = target.map(|target| {
            let found = targets::named(target).map(Target::capabilities);
            found.ok_or_else(|| DevicesError::NoSuchTarget {
                switch: name.to_owned(),
                target: target.clone(),
            })
        });
        let p4_name = self.p4_name.clone().or_else(|| defaults.p4_name.clone());
        Ok(Device {
            name: name.to_owned(),
            endpoint: Endpoint {
                address: self.address(name, wanted.default_port)?,
                device_id: self.device_id.unwrap_or(device_id),
                role: role.unwrap_or_default(),
                election_id: election_id.unwrap_or(ElectionId(1)),
                tls: tls.map(|tls| tls.read(name, folder)).transpose()?,
                timeout,
            },
            config: self.config.or(defaults.config).unwrap_or_default(),
            config_file: config_file.map(|file| folder.join(file)),
            target: target.transpose()?,
            p4_name,
            client_id: self.client_id.or(defaults.client_id),
        })
    }

    fn address(&self, name: &str, default_port: Option<u16>) -> Result<String, DevicesError> {
        let wrong = || DevicesError::Address {
            switch: name.to_owned(),
            address: self.address.clone(),
        };
        // The colons of an IPv6 address stand in brackets.
        let bare = !self.address.is_empty()
            && (!self.address.contains(':') || self.address.ends_with(']'));
        if let (true, Some(port)) = (bare, default_port) {
            return Ok(format!("{}:{port}", self.address));
        }
        let (host, port) = self.address.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(self.address.clone())
    }
}

impl TlsEntry {
    fn read(&self, name: &str, folder: &Path) -> Result<Tls, DevicesError> {
        let identity = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => Some((folder.join(cert), folder.join(key))),
            (None, None) => None,
            _ => return Err(DevicesError::HalfIdentity(name.to_owned())),
        };
        Ok(Tls {
            ca: self.ca.as_ref().map(|ca| folder.join(ca)),
            identity,
            name: self.name.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> DeviceRequirements {
        DeviceRequirements {
            switches: vec![("leaf1".to_owned(), 0), ("spine1".to_owned(), 1)],
            target: &targets::V1MODEL.capabilities,
            default_port: None,
        }
    }

    fn parse(text: &str) -> Result<Devices, DevicesError> {
        Devices::parse(text, Path::new("/etc/fabric"), &plan())
    }

    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = "format: switchwright-devices\nversion: 1\ndefaults:\n  election_id: 7\n  tls: {ca: ca.pem}\n\
                    switches:\n  leaf1: {address: \"a:1\"}\n  spine1: {address: \"b:2\", device_id: 9, election_id: \
                    [1, 2], role: r, tls: {enabled: false}, config: bmv2-json}\n";
        let json = r#"{"format": "switchwright-devices", "version": 1, "defaults": {"election_id": 7, "tls": {"ca":
                   "ca.pem"}}, "switches": {"leaf1": {"address": "a:1"}, "spine1": {"address": "b:2", "device_id": 9,
                   "election_id": [1, 2], "role": "r", "tls": {"enabled": false}, "config": "bmv2-json"}}}"#;
        let devices = parse(yaml).unwrap();
        assert_eq!(devices, parse(json).unwrap());
        let [leaf, spine] = devices.all() else {
            panic!("two switches")
        };
        assert_eq!(leaf.endpoint.device_id, 0);
        assert_eq!(leaf.endpoint.election_id, ElectionId(7));
        let ca = leaf.endpoint.tls.as_ref().unwrap().ca.clone();
        assert_eq!(ca, Some(PathBuf::from("/etc/fabric/ca.pem")));
        assert_eq!(spine.endpoint.device_id, 9);
        assert_eq!(spine.endpoint.election_id, ElectionId((1 << 64) + 2));
        assert_eq!(spine.endpoint.tls, None);
        assert_eq!(spine.config, ConfigFormat::Bmv2Json);
    }

    #[test]
    fn what_is_written_is_read() {
        let places = [("leaf1", "[::1]:9559"), ("spine1", "host:9560")];
        let places = places.map(|(n, a)| (n.to_owned(), a.to_owned()));
        let devices = parse(&write(&places)).unwrap();
        assert_eq!(devices.all()[0].endpoint.address, "[::1]:9559");
    }

    #[test]
    fn devices_over_bf_runtime_have_a_port_a_program_and_a_number() {
        let wanted = DeviceRequirements {
            target: &targets::TNA.capabilities,
            default_port: Some(50052),
            ..plan()
        };
        let text = "format: switchwright-devices\nversion: 1\ndefaults: {client_id: 9}\nswitches:\n  leaf1: {address: a, \
                    p4_name: other}\n  spine1: {address: \"[::1]\", target: tna, client_id: 3}\n";
        let devices = Devices::parse(text, Path::new("."), &wanted).unwrap();
        let [leaf, spine] = devices.all() else {
            panic!("two switches")
        };
        assert_eq!(leaf.endpoint.address, "a:50052");
        assert_eq!(
            (leaf.p4_name.as_deref(), leaf.client_id),
            (Some("other"), Some(9))
        );
        assert_eq!(spine.endpoint.address, "[::1]:50052");
        assert_eq!(
            (spine.target.map(|t| t.target), spine.client_id),
            (Some("tna"), Some(3))
        );
        let text = text.replace("p4_name: other", "device_id: 4294967296");
        let error = Devices::parse(&text, Path::new("."), &wanted).unwrap_err();
        assert!(error.to_string().contains("32 bits"), "{error}");
    }

    #[test]
    fn wrong_files_are_told_what_is_wrong() {
        let head = "format: switchwright-devices\nversion: 1\nswitches:\n";
        let both = "  leaf1: {address: \"a:1\"}\n  spine1: {address: \"a:1\", ";
        let cases = [
            ("format: other\n".to_owned(), "`other`"),
            (
                "format: switchwright-devices\nversion: 2\n".to_owned(),
                "version 2",
            ),
            (
                format!("{head}  leaf1: {{address: \"a:1\"}}\n"),
                "lacks switches of the build directory: `spine1`",
            ),
            (
                format!("{head}  leaf9: {{address: \"a:1\"}}\n"),
                "does not have: `leaf9`; there are: `leaf1`, `spine1`",
            ),
            (
                format!("{head}{both}device_id: 0}}\n"),
                "both at a:1 with device id 0",
            ),
            (format!("{head}{both}adress: x}}\n"), "adress"),
            (
                format!("{head}{both}tls: {{cert: c}}}}\n"),
                "`cert` and `key`",
            ),
            (format!("{head}{both}election_id: 0}}\n"), "at least 1"),
            (format!("{head}{both}timeout: -1}}\n"), "positive"),
            (
                format!("{head}{both}target: bmv3}}\n"),
                "no target `bmv3`; there are: v1model, embedded, tna, tna2",
            ),
            (
                format!(
                    "{head}  leaf1: {{address: \"a:1\", target: tna}}\n  spine1: {{address: \"b:1\"}}\n"
                ),
                "`leaf1` is of target tna, and the build is for v1model: build with `--target tna`",
            ),
            (
                format!("{head}  leaf1: {{address: here}}\n  spine1: {{address: \"b:1\"}}\n"),
                "`here` is not HOST:PORT",
            ),
        ];
        for (text, words) in cases {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
