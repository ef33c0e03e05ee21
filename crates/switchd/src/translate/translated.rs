//! Types whose values the control plane writes in another way than the program
//! (`@p4runtime_translation`; P4Runtime 1.5, sections 7.2.1 and 18.1).
//!
//! *To a number of another width:* the number is the same on both sides, and one that the program
//! has no room for is OUT_OF_RANGE.
//!
//! *To a string:* ports have names ([`PortNames`]); nothing else has, and a program that asks for
//! it is refused rather than taken for one whose strings are numbers.

use std::sync::Arc;

use p4ir::Type;
use p4runtime::p4::config::v1 as info;
use p4runtime::p4::config::v1::p4_new_type_spec::Representation;
use p4runtime::p4::config::v1::p4_new_type_translation::SdnType;

use super::refusal::Refusal;
use super::schema::{Builder, unfit, unsigned};
use crate::ports::PortNames;

impl Builder<'_> {
    /// How values of a named type are translated, if they are.
    pub(super) fn translation(
        &self,
        type_name: Option<&info::P4NamedType>,
    ) -> Option<&info::P4NewTypeTranslation> {
        let types = self.info.type_info.as_ref()?;
        match types
            .new_types
            .get(&type_name?.name)?
            .representation
            .as_ref()?
        {
            Representation::TranslatedType(translation) => Some(translation),
            Representation::OriginalType(_) => None,
        }
    }

    /// The names that values of a type have on the wire, if it is translated to strings.
    pub(super) fn names(
        &self,
        place: &str,
        type_name: Option<&info::P4NamedType>,
        width: u32,
    ) -> Result<Option<Arc<PortNames>>, Refusal> {
        let (Some(translation), Some(name)) = (self.translation(type_name), type_name) else {
            return Ok(None);
        };
        if !matches!(translation.sdn_type, Some(SdnType::SdnString(_))) {
            return Ok(None);
        }
        if !is_port_type(&name.name, translation) {
            return Err(Refusal::unimplemented(format!(
                "{place} has the type `{}`, whose values are strings for the control plane, and nothing says which number each stands for: \
                 only ports have names here (types with `port` in their name or URI); translate it to a number",
                name.name
            )));
        }
        if width > u32::BITS {
            return Err(Refusal::unimplemented(format!(
                "{place} has {width} bits, and numbers of ports have 32 at most"
            )));
        }
        Ok(Some(Arc::clone(self.names)))
    }

    /// Whether the control plane knows ports by strings.
    pub(super) fn has_port_names(&self) -> bool {
        let types = self.info.type_info.iter().flat_map(|t| &t.new_types);
        types
            .into_iter()
            .any(|(name, new_type)| match &new_type.representation {
                Some(Representation::TranslatedType(translation)) => {
                    matches!(translation.sdn_type, Some(SdnType::SdnString(_)))
                        && is_port_type(name, translation)
                }
                _ => false,
            })
    }

    /// The widths of a controller header's fields on the CPU port. P4Info has them, but of a
    /// translated type it has the control plane's: then they are those of the program's header with
    /// the same fields.
    pub(super) fn header_widths(
        &self,
        name: &str,
        given: &info::ControllerPacketMetadata,
    ) -> Result<Vec<u32>, Refusal> {
        let told: Vec<Option<u32>> = given
            .metadata
            .iter()
            .map(|m| {
                let translated = self.translation(m.type_name.as_ref()).is_some();
                (!translated).then(|| unsigned(m.bitwidth))
            })
            .collect();
        if let Some(all) = told.iter().copied().collect() {
            return Ok(all);
        }
        let fits = |ty: &Type| {
            let fields = ty.fields().filter(|_| ty.is_header())?;
            let same = fields.len() == told.len()
                && fields
                    .iter()
                    .zip(&given.metadata)
                    .all(|(f, m)| f.name == m.name);
            let widths: Vec<u32> = fields.iter().map(|f| self.shape(f.ty).width).collect();
            let told = widths.iter().zip(&told);
            (same
                && told
                    .into_iter()
                    .all(|(own, told)| told.is_none_or(|told| told == *own)))
            .then_some(widths)
        };
        let types = self.program.types.iter();
        let mut found: Vec<Vec<u32>> = types.filter_map(|(_, ty)| fits(ty)).collect();
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [widths] => Ok(widths.clone()),
            [] => unfit(format!(
                "the program has no header with the fields of `{name}`"
            )),
            _ => unfit(format!(
                "the program has several headers with the fields of `{name}`, of other widths"
            )),
        }
    }
}

/// Whether values of a translated type are ports: P4Info does not say what a type means but by its
/// name and URI, such as sonic-pins' `port_id_t` or PSA's `p4.org/psa/v1/PortId_t`.
fn is_port_type(name: &str, translation: &info::P4NewTypeTranslation) -> bool {
    let last = translation.uri.rsplit('/').next().unwrap_or_default();
    [name, last]
        .iter()
        .any(|text| text.to_ascii_lowercase().contains("port"))
}
