//! A fabric that stands: a folder of its switches' configurations under SONiC (`config_db.json`),
//! of what they hear by LLDP (`lldpcli -f json show neighbors`, or `json0`), or of both.
//!
//! From a configuration come ports and their speeds (`PORT`), neighbours (`DEVICE_NEIGHBOR`) and
//! lengths of cables (`CABLE_LENGTH`); from LLDP neighbours. A device that others name and that has
//! no file is taken for a host. What is heard on management interfaces is left out.

use std::collections::{BTreeMap, BTreeSet};

use quantities::{BitRate, Metres};
use serde_json::{Map, Value};

use super::super::file::parse_mac;
use super::super::ports::{GivenPort, Management, natural_order};
use super::leave::Leave;
use super::{
    Draft, DraftEnd, DraftHost, DraftLink, ImportError, ImportFormat, ImportOptions, Imported,
};

/// A device without a file that more switches than this hear is seldom a host.
const SWITCHES_OF_A_HOST: usize = 2;

/// A file of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedText {
    /// Its path below the folder.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// What a device's files say.
#[derive(Debug, Default)]
struct Device {
    /// The ports that it has, by name.
    ports: BTreeMap<String, Port>,
    /// Whether `ports` are all that it has.
    knows_ports: bool,
}

#[derive(Debug, Default)]
struct Port {
    speed: Option<BitRate>,
    length: Option<Metres>,
    neighbor: Option<Neighbor>,
}

/// What a port leads to, and where that is said.
#[derive(Clone, Debug)]
struct Neighbor {
    device: String,
    /// What the port may be called there.
    ports: Vec<String>,
    place: String,
}

/// The rows of a table, by key.
type Rows<'a> = Vec<(&'a String, &'a Map<String, Value>)>;
/// One end of a cable: device and port.
type End = (String, String);

const BITS_PER_MEGABIT: u64 = 1_000_000;
const FORMAT: ImportFormat = ImportFormat::Fabric;

fn wrong(place: impl Into<String>, reason: impl Into<String>) -> ImportError {
    ImportError::Value {
        format: FORMAT,
        place: place.into(),
        reason: reason.into(),
    }
}

/// Whether a JSON object is of a kind that is read here.
fn kind(root: &Map<String, Value>) -> Option<Kind> {
    if root.contains_key("lldp") {
        Some(Kind::Lldp)
    } else if root.contains_key("PORT") || root.contains_key("DEVICE_NEIGHBOR") {
        Some(Kind::Config)
    } else {
        None
    }
}

enum Kind {
    Config,
    Lldp,
}

/// Imports a fabric. Files of other kinds are passed over.
///
/// # Errors
/// [`ImportError`], which names file, table and key; also if the switches are not all connected.
pub fn import_fabric(
    files: &[NamedText],
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let imported = draft_of(files, options)?.finish()?;
    Ok(imported.with_supplied(options))
}

/// Imports a fabric whose switches need not all be connected: a topology for each part that is, in
/// the order of the names of their first switches. Notes about all of them stand with the first.
///
/// # Errors
/// [`ImportError`], which names file, table and key.
pub fn import_fabric_parts(
    files: &[NamedText],
    options: &ImportOptions,
) -> Result<Vec<Imported>, ImportError> {
    let parts = draft_of(files, options)?.split()?.into_iter();
    parts
        .map(|part| Ok(part.finish()?.with_supplied(options)))
        .collect()
}

/// What the files of a folder say together.
fn draft_of(files: &[NamedText], options: &ImportOptions) -> Result<Draft, ImportError> {
    let mut devices: BTreeMap<String, Device> = BTreeMap::new();
    let mut leave = Leave::new(options);
    let mut read = BTreeMap::new();
    for file in files {
        let root: Value = serde_json::from_str(file.text.trim_start_matches('\u{feff}'))
            .map_err(|e| wrong(&file.name, format!("no JSON: {e}")))?;
        let Value::Object(root) = root else { continue };
        let Some(kind) = kind(&root) else { continue };
        let name = device_name(&file.name, &root);
        let device = devices.entry(name.clone()).or_default();
        let mut reader = Reader {
            file: &file.name,
            name: &name,
            device,
            leave: &mut leave,
        };
        let what = match kind {
            Kind::Config => {
                reader.config(&root)?;
                "config_db.json"
            }
            Kind::Lldp => {
                reader.lldp(&root)?;
                "LLDP table"
            }
        };
        if let Some(first) = read.insert((name.clone(), what), file.name.clone()) {
            let reason = format!("is a {what} of `{name}`, and so is {first}: keep one");
            return Err(wrong(&file.name, reason));
        }
    }
    if devices.is_empty() {
        let found = "the folder has no config_db.json (an object of tables with PORT) and no LLDP table (an object \
                     `lldp`)";
        return Err(ImportError::Unknown(found.to_owned()));
    }
    leave_out_far_ends(&mut devices, &mut leave);
    draft(devices, leave, options)
}

/// Leaves out what a device hears from the management interface of another.
fn leave_out_far_ends(devices: &mut BTreeMap<String, Device>, leave: &mut Leave) {
    let known: BTreeSet<String> = devices.keys().cloned().collect();
    for (name, device) in devices {
        for port in device.ports.values_mut() {
            let Some(far) = port.neighbor.take_if(|far| {
                known.contains(&far.device) && far.ports.iter().any(|port| is_management(port))
            }) else {
                continue;
            };
            match far.ports.iter().find(|port| is_management(port)) {
                Some(interface) if !leave.keeps(&far.device, interface) => {
                    leave.management(&far.device, interface, name);
                }
                _ => port.neighbor = Some(far),
            }
        }
    }
}

/// Whether a switch that has a file takes this interface for management.
fn is_management(interface: &str) -> bool {
    Management::of(interface) != Management::No
}

/// What a device is called: as its configuration says; else as the file is called, or the folder
/// that it is in.
fn device_name(file: &str, root: &Map<String, Value>) -> String {
    let said = root
        .get("DEVICE_METADATA")
        .and_then(|table| table.get("localhost")?.get("hostname")?.as_str());
    if let Some(said) = said {
        return said.to_owned();
    }
    let mut parts = file.rsplit('/');
    let last = parts.next().unwrap_or(file);
    let stem = last.strip_suffix(".json").unwrap_or(last);
    match (stem, parts.next()) {
        ("config_db" | "lldp" | "lldpcli", Some(folder)) => folder.to_owned(),
        _ => stem.to_owned(),
    }
}

/// The configurations among these files: the position of each by the name of its device.
#[must_use]
pub fn configurations(files: &[NamedText]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        let root = serde_json::from_str(file.text.trim_start_matches('\u{feff}'));
        if let Ok(Value::Object(root)) = root
            && matches!(kind(&root), Some(Kind::Config))
        {
            found.insert(device_name(&file.name, &root), at);
        }
    }
    found
}

fn rows<'a>(
    file: &str,
    root: &'a Map<String, Value>,
    table: &'static str,
) -> Result<Rows<'a>, ImportError> {
    let place = |key: &str| format!("{file}: table {table}{key}");
    let table = match root.get(table) {
        None => return Ok(Vec::new()),
        Some(Value::Object(rows)) => rows,
        Some(_) => return Err(wrong(place(""), "is no object of rows")),
    };
    let row = |(key, row): (&'a String, &'a Value)| match row {
        Value::Object(row) => Ok((key, row)),
        _ => Err(wrong(
            place(&format!(", key `{key}`")),
            "is no object of fields",
        )),
    };
    table.iter().map(row).collect()
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Reads the files of a device.
struct Reader<'a> {
    file: &'a str,
    name: &'a str,
    device: &'a mut Device,
    leave: &'a mut Leave,
}

impl Reader<'_> {
    fn config(&mut self, root: &Map<String, Value>) -> Result<(), ImportError> {
        let file = self.file;
        for (name, row) in rows(file, root, "PORT")? {
            let port = self.device.ports.entry(name.clone()).or_default();
            self.device.knows_ports = true;
            let Some(speed) = text(row.get("speed")) else {
                continue;
            };
            let megabits = speed.parse::<u64>().ok().filter(|speed| *speed > 0);
            let bits = megabits.and_then(|speed| speed.checked_mul(BITS_PER_MEGABIT));
            let place = format!("{file}: table PORT, key `{name}.speed`");
            let bits =
                bits.ok_or_else(|| wrong(place, format!("`{speed}` is no speed in Mb/s")))?;
            port.speed = Some(BitRate::new(bits));
        }
        for (group, row) in rows(file, root, "CABLE_LENGTH")? {
            for (name, value) in row {
                let place = format!("{file}: table CABLE_LENGTH, key `{group}.{name}`");
                let said = text(Some(value)).unwrap_or_default();
                let metres = said.strip_suffix('m').and_then(|n| n.parse().ok());
                let metres = metres
                    .ok_or_else(|| wrong(&place, format!("`{said}` is no length such as `40m`")))?;
                let port = self.device.ports.get_mut(name);
                let port =
                    port.ok_or_else(|| wrong(&place, format!("there is no port `{name}`")))?;
                let metres = Metres::new(metres);
                if let Some(known) = port.length.replace(metres)
                    && known != metres
                {
                    let reason = format!("{metres} m, but another group says {known} m: keep one");
                    return Err(wrong(place, reason));
                }
            }
        }
        for (name, row) in rows(file, root, "DEVICE_NEIGHBOR")? {
            let place = format!("{file}: table DEVICE_NEIGHBOR, key `{name}`");
            let far = text(row.get("name"));
            let far = far.ok_or_else(|| wrong(&place, "names no device (`name`)"))?;
            let ports = text(row.get("port")).into_iter().collect();
            self.learn(name, far, ports, place)?;
        }
        Ok(())
    }

    /// A port's neighbour, unless something else was said of it.
    fn learn(
        &mut self,
        name: &str,
        far: String,
        ports: Vec<String>,
        place: String,
    ) -> Result<(), ImportError> {
        if self.leaves_out(name, &far) {
            return Ok(());
        }
        let device = &mut *self.device;
        if device.knows_ports && !device.ports.contains_key(name) {
            return Err(wrong(
                place,
                format!("there is no port `{name}` in table PORT"),
            ));
        }
        let port = device.ports.entry(name.to_owned()).or_default();
        match &mut port.neighbor {
            Some(known) if known.device != far => {
                let reason = format!(
                    "leads to `{far}`, but {} says `{}`: correct one of them",
                    known.place, known.device
                );
                Err(wrong(place, reason))
            }
            Some(known) => {
                // Either may name the port in the words of the other side.
                known.ports.extend(ports);
                Ok(())
            }
            none => {
                *none = Some(Neighbor {
                    device: far,
                    ports,
                    place,
                });
                Ok(())
            }
        }
    }

    /// Whether what an interface hears is left out.
    fn leaves_out(&mut self, interface: &str, far: &str) -> bool {
        let ends = [(self.name, Some(interface)), (far, None)];
        let ignored = ends.map(|(device, interface)| self.leave.ignores(device, interface));
        let mut any = false;
        for what in ignored.into_iter().flatten() {
            self.leave.ignored(what, [self.name, far]);
            any = true;
        }
        if !any && is_management(interface) && !self.leave.keeps(self.name, interface) {
            self.leave.management(self.name, interface, far);
            any = true;
        }
        any
    }

    fn lldp(&mut self, root: &Map<String, Value>) -> Result<(), ImportError> {
        let file = self.file;
        for (name, heard) in heard(file, root)? {
            let place = format!("{file}: lldp.interface, key `{name}`");
            let chassis = heard.get("chassis").map(one);
            let far = chassis.and_then(chassis_name).ok_or_else(|| {
                let reason = "has no chassis: write it with `lldpcli -f json show neighbors`";
                wrong(&place, reason)
            })?;
            let port = heard.get("port").map(one);
            let id = port.and_then(|port| said(port.get("id")));
            let described = port.and_then(|port| said(port.get("descr")));
            let ports = id.into_iter().chain(described).collect();
            self.learn(&name, far, ports, place)?;
        }
        Ok(())
    }
}

/// A value, out of the list of one that `json0` puts everything in.
fn one(value: &Value) -> &Value {
    match value {
        Value::Array(values) => values.first().unwrap_or(value),
        other => other,
    }
}

/// The text of `{"value": ...}`, of `[{"value": ...}]`, or of the value itself.
fn said(value: Option<&Value>) -> Option<String> {
    let value = one(value?);
    text(value.get("value").or(Some(value)))
}

/// What was heard, by interface.
type ByInterface<'a> = Vec<(String, &'a Map<String, Value>)>;

/// What was heard on each interface. `json` keys an object by the interface's name, `json0` gives
/// the name in a field.
fn heard<'a>(file: &str, root: &'a Map<String, Value>) -> Result<ByInterface<'a>, ImportError> {
    let interfaces = root.get("lldp").and_then(|lldp| one(lldp).get("interface"));
    let each: Vec<&Map<String, Value>> = match interfaces {
        None => Vec::new(),
        Some(Value::Object(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_object).collect(),
        Some(_) => {
            let reason =
                "is neither an object nor a list: write it with `lldpcli -f json show neighbors`";
            return Err(wrong(format!("{file}: lldp.interface"), reason));
        }
    };
    let mut found = Vec::new();
    for entry in each {
        match entry.get("name").and_then(Value::as_str) {
            Some(name) => found.push((name.to_owned(), entry)),
            None => {
                let named = entry.iter().filter_map(|(name, about)| {
                    let about = about.as_object()?;
                    Some((name.clone(), about))
                });
                found.extend(named);
            }
        }
    }
    Ok(found)
}

/// What a chassis is called: its system name; without one its id.
fn chassis_name(chassis: &Value) -> Option<String> {
    let chassis = chassis.as_object()?;
    if let Some(name) = said(chassis.get("name")) {
        return Some(name);
    }
    let id = said(chassis.get("id")).map(|id| id.replace(':', "-"));
    id.or_else(|| {
        // `json` keys it by the name.
        let (name, about) = chassis.iter().next()?;
        about.is_object().then(|| name.clone())
    })
}

fn draft(
    mut devices: BTreeMap<String, Device>,
    leave: Leave,
    options: &ImportOptions,
) -> Result<Draft, ImportError> {
    let mut draft = Draft::new(FORMAT, options);
    draft.leave = Some(leave);
    draft.switches = devices.keys().cloned().collect();
    let cables = cables(&mut devices)?;
    for (device, about) in &devices {
        let names = about.ports.keys().filter(|port| !is_management(port));
        draft.ports.insert(device.clone(), names.cloned().collect());
    }
    let mut hosts: BTreeMap<String, Heard> = BTreeMap::new();
    for Cable { ends, place, back } in cables {
        let mut rates = Vec::new();
        let mut lengths = Vec::new();
        let (near, far) = &ends;
        for (device, port) in std::iter::once(near).chain(far) {
            let about = devices
                .get(device)
                .and_then(|device| device.ports.get(port));
            rates.extend(about.and_then(|port| port.speed));
            lengths.extend(about.and_then(|port| port.length));
        }
        if let [a, b] = rates[..]
            && a != b
        {
            let megabits = |rate: BitRate| rate.get() / BITS_PER_MEGABIT;
            let reason = format!(
                "runs at {} Mb/s here and at {} Mb/s at the other end: correct table PORT of one",
                megabits(a),
                megabits(b)
            );
            return Err(wrong(place, reason));
        }
        if let [a, b] = lengths[..]
            && a != b
        {
            let note = format!("{place}: {a} m at one end, {b} m at the other; the longer counts");
            draft.notes.push(note);
        }
        if !back {
            draft
                .notes
                .push(format!("{place}: the other end does not say so"));
        }
        let ((device, port), far) = ends;
        let far = match far {
            Some((device, port)) => DraftEnd::new(device, GivenPort::Name(port)),
            None => {
                let about = devices
                    .get(&device)
                    .and_then(|device| device.ports.get(&port));
                let neighbor = about.and_then(|port| port.neighbor.as_ref());
                let Some(neighbor) = neighbor else { continue };
                let heard = hosts.entry(neighbor.device.clone()).or_default();
                heard.by.insert(device.clone());
                let port = host_port(neighbor).filter(|port| heard.ports.insert(port.clone()));
                DraftEnd::new(
                    &neighbor.device,
                    port.map_or(GivenPort::Open, GivenPort::Name),
                )
            }
        };
        draft.links.push(DraftLink {
            rate: rates.first().copied(),
            length: lengths.into_iter().max(),
            ..DraftLink::new(place, [DraftEnd::new(device, GivenPort::Name(port)), far])
        });
    }
    for (name, heard) in hosts {
        if heard.by.len() > SWITCHES_OF_A_HOST {
            draft.notes.push(format!(
                "`{name}` has no file and {} switches hear it: it is taken for a host; leave it out \
                 (`--ignore {name}`), or add its file",
                heard.by.len()
            ));
        }
        draft.hosts.push(DraftHost {
            name,
            ..DraftHost::default()
        });
    }
    Ok(draft)
}

/// Where a host is heard.
#[derive(Default)]
struct Heard {
    /// By which switches.
    by: BTreeSet<String>,
    /// What its ports are called.
    ports: BTreeSet<String>,
}

/// What a host calls its port, if what was heard can be a name: it may be an address, or words.
fn host_port(neighbor: &Neighbor) -> Option<String> {
    let is_name = |port: &&String| {
        let odd = |c: char| c.is_whitespace() || c == ',';
        let number = port.bytes().all(|byte| byte.is_ascii_digit());
        !number && !port.contains(odd) && parse_mac(port).is_none()
    };
    neighbor.ports.iter().find(is_name).cloned()
}

/// A cable. Its far end is none where a host stands there.
struct Cable {
    ends: (End, Option<End>),
    /// Where it is said.
    place: String,
    /// Whether both ends say so.
    back: bool,
}

/// Pairs the ports up.
fn cables(devices: &mut BTreeMap<String, Device>) -> Result<Vec<Cable>, ImportError> {
    let mut cables = Vec::new();
    let mut used: BTreeMap<End, String> = BTreeMap::new();
    let mut fresh: Vec<End> = Vec::new();
    for (name, device) in devices.iter() {
        let mut ports: Vec<(&String, &Port)> = device.ports.iter().collect();
        ports.sort_by(|(a, _), (b, _)| natural_order(a, b));
        for (port, about) in ports {
            let near = (name.clone(), port.clone());
            let Some(neighbor) = &about.neighbor else {
                continue;
            };
            let place = neighbor.place.clone();
            let Some(far) = devices.get(&neighbor.device) else {
                cables.push(Cable {
                    ends: (near, None),
                    place,
                    back: true,
                });
                continue;
            };
            let far_port = far_port(neighbor, far)?;
            let far_end = (neighbor.device.clone(), far_port.clone());
            let says = far.ports.get(&far_port).and_then(|p| p.neighbor.as_ref());
            let back = match says {
                None => false,
                Some(says) if says.device == *name && answers(says, port, device) => true,
                Some(says) => {
                    let reason = format!(
                        "leads to `{}` of `{}`, but that leads to {} of `{}` ({}): correct one of them",
                        far_port,
                        neighbor.device,
                        says.ports.first().map_or("a port", String::as_str),
                        says.device,
                        says.place
                    );
                    return Err(wrong(place, reason));
                }
            };
            if back && (&far_end.0, &far_end.1) < (&near.0, &near.1) {
                // The other end has said it.
                continue;
            }
            for end in [&near, &far_end] {
                if let Some(first) = used.insert(end.clone(), place.clone()) {
                    let reason = format!("`{}` of `{}` has a cable already: {first}", end.1, end.0);
                    return Err(wrong(place, reason));
                }
            }
            if !far.ports.contains_key(&far_port) {
                fresh.push(far_end.clone());
            }
            cables.push(Cable {
                ends: (near, Some(far_end)),
                place,
                back,
            });
        }
    }
    for (device, port) in fresh {
        let device = devices.entry(device).or_default();
        device.ports.entry(port).or_default();
    }
    Ok(cables)
}

/// The port of the far device that is meant: one that it has, if any of the names is one.
fn far_port(neighbor: &Neighbor, far: &Device) -> Result<String, ImportError> {
    let known = neighbor
        .ports
        .iter()
        .find(|name| far.ports.contains_key(*name));
    if let Some(known) = known {
        return Ok(known.clone());
    }
    match neighbor.ports.first() {
        Some(name) if !far.knows_ports => Ok(name.clone()),
        Some(name) => {
            let reason = format!("`{}` has no port `{name}`", neighbor.device);
            Err(wrong(&neighbor.place, reason))
        }
        None => {
            let reason = format!("does not say which port of `{}`", neighbor.device);
            Err(wrong(&neighbor.place, reason))
        }
    }
}

/// Whether the far end names this port, or none.
fn answers(says: &Neighbor, port: &str, device: &Device) -> bool {
    let known = says
        .ports
        .iter()
        .any(|name| device.ports.contains_key(name));
    !known || says.ports.iter().any(|name| name == port)
}
