//! What the protocol calls the kinds of what a program declares.

use lsp_types::{CompletionItemKind, SymbolKind};
use p4front::index::{Kind, OfferKind};

pub(super) fn symbol(kind: Kind) -> SymbolKind {
    match kind {
        Kind::Header | Kind::HeaderUnion | Kind::Struct | Kind::NewType | Kind::Typedef => {
            SymbolKind::STRUCT
        }
        Kind::Field => SymbolKind::FIELD,
        Kind::Enum => SymbolKind::ENUM,
        Kind::EnumMember | Kind::ErrorMember | Kind::MatchKind => SymbolKind::ENUM_MEMBER,
        Kind::TypeParam => SymbolKind::TYPE_PARAMETER,
        Kind::Extern => SymbolKind::CLASS,
        Kind::Constructor => SymbolKind::CONSTRUCTOR,
        Kind::Method => SymbolKind::METHOD,
        Kind::ExternFunction | Kind::Function | Kind::Action => SymbolKind::FUNCTION,
        Kind::ParserType | Kind::ControlType => SymbolKind::INTERFACE,
        Kind::Package => SymbolKind::PACKAGE,
        Kind::Parser | Kind::Control => SymbolKind::MODULE,
        Kind::State => SymbolKind::EVENT,
        Kind::Table => SymbolKind::OBJECT,
        Kind::ValueSet => SymbolKind::ARRAY,
        Kind::Constant => SymbolKind::CONSTANT,
        Kind::Instance => SymbolKind::OBJECT,
        Kind::Variable | Kind::Param => SymbolKind::VARIABLE,
    }
}

pub(super) fn completion(kind: OfferKind) -> CompletionItemKind {
    use CompletionItemKind as C;
    match kind {
        OfferKind::Keyword => C::KEYWORD,
        OfferKind::BuiltInMethod => C::METHOD,
        OfferKind::BuiltInField => C::FIELD,
        OfferKind::State => C::EVENT,
        OfferKind::Property => C::PROPERTY,
        OfferKind::Annotation => C::KEYWORD,
        OfferKind::Declared(kind) => match kind {
            Kind::Header | Kind::HeaderUnion | Kind::Struct | Kind::NewType | Kind::Typedef => {
                C::STRUCT
            }
            Kind::Field => C::FIELD,
            Kind::Enum => C::ENUM,
            Kind::EnumMember | Kind::ErrorMember | Kind::MatchKind => C::ENUM_MEMBER,
            Kind::TypeParam => C::TYPE_PARAMETER,
            Kind::Extern => C::CLASS,
            Kind::Constructor => C::CONSTRUCTOR,
            Kind::Method => C::METHOD,
            Kind::ExternFunction | Kind::Function | Kind::Action => C::FUNCTION,
            Kind::ParserType | Kind::ControlType => C::INTERFACE,
            Kind::Package | Kind::Parser | Kind::Control => C::MODULE,
            Kind::State => C::EVENT,
            Kind::Constant => C::CONSTANT,
            Kind::Table | Kind::ValueSet | Kind::Instance => C::VALUE,
            Kind::Variable | Kind::Param => C::VARIABLE,
        },
    }
}
