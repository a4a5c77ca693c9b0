//! Faults: answers that a correct server never gives, or gives only sometimes.

/// A fault of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the crate is not published")]
pub enum Fault {
    /// The request is not applied, and the answer has this status.
    Refuse(u16),
    /// The request is not applied, and the connection is closed without an answer.
    Close,
    /// The request is applied, but the answer has this status.
    ApplyAndRefuse(u16),
    /// The request is applied, but the connection is closed without an answer.
    ApplyAndClose,
    /// The connection is closed after this number of bytes of the body.
    Cut(u64),
    /// The requested range is ignored.
    WholeValue,
    /// The request is not applied, and the answer has status 200 and this body, as from a server of another kind.
    Reply(&'static str),
}
