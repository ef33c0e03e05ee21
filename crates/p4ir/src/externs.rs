//! Extern objects, functions and methods that executors know, resolved from their names once, by
//! who makes a [`crate::Program`].

use serde::{Deserialize, Serialize};

use crate::entity::ExternId;

/// What describes a CRC, by the names of the parameters of Tofino's `CRCPolynomial`. An algorithm
/// that is no member of an enum is the list of these constants.
pub const CRC_PARTS: [&str; 4] = ["coeff", "reversed", "init", "xor"];

/// An enum of names, with `Other` for what is none of them.
macro_rules! names {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[allow(missing_docs, reason = "the names say it, and p4include/ describes them")]
        pub enum $name {
            $($variant,)*
            /// None that executors know, by its name in the source.
            Other(String),
        }

        impl $name {
            /// What this name means.
            #[must_use]
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }

            /// Its name in messages and in the text form; of objects that several architectures
            /// have, v1model's.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(name) => name,
                }
            }
        }
    };
}

names! {
    /// Types of extern objects. Objects of `tna.p4` and `t2na.p4` that v1model has under another
    /// name are those of v1model (`Register` is [`ExternType::Register`]).
    ExternType {
        Counter = "counter",
        DirectCounter = "direct_counter",
        Meter = "meter",
        DirectMeter = "direct_meter",
        Register = "register",
        ActionProfile = "action_profile",
        ActionSelector = "action_selector",
        Checksum16 = "Checksum16",
        // Of Tofino: what programs do with these is written out in statements.
        Checksum = "Checksum",
        CrcPolynomial = "CRCPolynomial",
        Digest = "Digest",
        Mirror = "Mirror",
        Resubmit = "Resubmit",
        Hash = "Hash",
        ParserCounter = "ParserCounter",
        ParserPriority = "ParserPriority",
        Random = "Random",
        DirectRegister = "DirectRegister",
        DirectRegisterAction = "DirectRegisterAction",
        RegisterAction = "RegisterAction",
        RegisterAction2 = "RegisterAction2",
        RegisterAction3 = "RegisterAction3",
        RegisterAction4 = "RegisterAction4",
        MinMaxAction = "MinMaxAction",
    }
}

names! {
    /// Extern functions of v1model, and `mirror` and `resubmit_with`, which stand for what Tofino's
    /// deparsers ask for.
    ExternFunction {
        Assert = "assert",
        Assume = "assume",
        Clone = "clone",
        Clone3 = "clone3",
        ClonePreservingFieldList = "clone_preserving_field_list",
        Digest = "digest",
        Hash = "hash",
        LogMsg = "log_msg",
        MarkToDrop = "mark_to_drop",
        Mirror = "mirror",
        Random = "random",
        Recirculate = "recirculate",
        RecirculatePreservingFieldList = "recirculate_preserving_field_list",
        Resubmit = "resubmit",
        ResubmitPreservingFieldList = "resubmit_preserving_field_list",
        ResubmitWith = "resubmit_with",
        Truncate = "truncate",
        UpdateChecksum = "update_checksum",
        UpdateChecksumWithPayload = "update_checksum_with_payload",
        VerifyChecksum = "verify_checksum",
        VerifyChecksumWithPayload = "verify_checksum_with_payload",
    }
}

impl ExternType {
    /// The type that an extern of `tna.p4` or `t2na.p4` is: v1model's, where it has the same under
    /// another name.
    #[must_use]
    pub fn of_tna(name: &str) -> Self {
        match name {
            "Counter" => Self::Counter,
            "DirectCounter" => Self::DirectCounter,
            "Meter" => Self::Meter,
            "DirectMeter" => Self::DirectMeter,
            "Register" => Self::Register,
            "ActionProfile" => Self::ActionProfile,
            "ActionSelector" => Self::ActionSelector,
            other => Self::from_name(other),
        }
    }

    /// Whether the control plane reads or writes such objects.
    #[must_use]
    pub const fn is_managed(&self) -> bool {
        match self {
            Self::Counter
            | Self::DirectCounter
            | Self::Meter
            | Self::DirectMeter
            | Self::Register
            | Self::ActionProfile
            | Self::ActionSelector => true,
            Self::Checksum
            | Self::Checksum16
            | Self::CrcPolynomial
            | Self::Digest
            | Self::DirectRegister
            | Self::DirectRegisterAction
            | Self::Hash
            | Self::Mirror
            | Self::ParserCounter
            | Self::ParserPriority
            | Self::Random
            | Self::RegisterAction
            | Self::RegisterAction2
            | Self::RegisterAction3
            | Self::RegisterAction4
            | Self::MinMaxAction
            | Self::Resubmit
            | Self::Other(_) => false,
        }
    }

    /// Whether tables take their actions from such an object.
    #[must_use]
    pub const fn holds_actions(&self) -> bool {
        matches!(self, Self::ActionProfile | Self::ActionSelector)
    }
}

impl ExternFunction {
    /// Whether it computes or verifies a checksum: `f(condition, data, checksum, algorithm)`.
    #[must_use]
    pub const fn is_checksum(&self) -> bool {
        matches!(
            self,
            Self::UpdateChecksum
                | Self::UpdateChecksumWithPayload
                | Self::VerifyChecksum
                | Self::VerifyChecksumWithPayload
        )
    }
}

/// Methods of extern objects, each of one [`ExternType`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ExternMethod {
    /// `counter.count(index)`.
    Count,
    /// `direct_counter.count()`, which is no work: an entry counts when its table is applied.
    CountDirect,
    /// `meter.execute_meter(index, result)`.
    ExecuteMeter,
    /// `direct_meter.read(result)`.
    ReadDirectMeter,
    /// `register.read(result, index)`.
    ReadRegister,
    /// `register.write(index, value)`.
    WriteRegister,
    /// The cell of a direct register that belongs to what its table did last: 0 for a miss, and the
    /// entry's slot plus 1.
    EntryCell,
    /// `Checksum16.get(data)`.
    GetChecksum16,
    /// None that executors know, by its name in the source.
    Other(String),
}

impl ExternMethod {
    /// The method that a type has under this name.
    #[must_use]
    pub fn of(ty: &ExternType, name: &str) -> Self {
        match (ty, name) {
            (ExternType::Counter, "count") => Self::Count,
            (ExternType::DirectCounter, "count") => Self::CountDirect,
            (ExternType::Meter, "execute_meter") => Self::ExecuteMeter,
            (ExternType::DirectMeter, "read") => Self::ReadDirectMeter,
            (ExternType::Register | ExternType::DirectRegister, "read") => Self::ReadRegister,
            (ExternType::Register | ExternType::DirectRegister, "write") => Self::WriteRegister,
            (ExternType::DirectRegister, "entry_cell") => Self::EntryCell,
            (ExternType::Checksum16, "get") => Self::GetChecksum16,
            (_, other) => Self::Other(other.to_owned()),
        }
    }

    /// Its name in the source.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Count | Self::CountDirect => "count",
            Self::ExecuteMeter => "execute_meter",
            Self::ReadDirectMeter | Self::ReadRegister => "read",
            Self::WriteRegister => "write",
            Self::EntryCell => "entry_cell",
            Self::GetChecksum16 => "get",
            Self::Other(name) => name,
        }
    }

    /// Whether objects of this type have the method.
    #[must_use]
    pub fn fits(&self, ty: &ExternType) -> bool {
        matches!(self, Self::Other(_)) || Self::of(ty, self.name()) == *self
    }
}

/// What a [`crate::ExternCall`] calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExternCallee {
    /// A function.
    Function(ExternFunction),
    /// A method of an object.
    Method(ExternId, ExternMethod),
}

impl ExternCallee {
    /// The name of the function or method in the source.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Function(function) => function.name(),
            Self::Method(_, method) => method.name(),
        }
    }

    /// The object whose method it is.
    #[must_use]
    pub const fn object(&self) -> Option<ExternId> {
        match self {
            Self::Function(_) => None,
            Self::Method(id, _) => Some(*id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in ["counter", "Checksum16", "Hash"] {
            assert_eq!(ExternType::from_name(name).name(), name);
        }
        assert_eq!(ExternFunction::from_name("clone3"), ExternFunction::Clone3);
        let other = ExternFunction::Other("funnel_shift_right".into());
        assert_eq!(ExternFunction::from_name("funnel_shift_right"), other);
    }

    #[test]
    fn a_method_is_of_one_type() {
        let read = ExternMethod::of(&ExternType::Register, "read");
        assert!(read.fits(&ExternType::Register));
        assert!(!read.fits(&ExternType::DirectMeter));
        assert!(!ExternMethod::CountDirect.fits(&ExternType::Counter));
    }
}
