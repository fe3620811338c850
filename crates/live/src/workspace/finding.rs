//! What a read of a known file can find. Holds no behaviour.

use base::object::Hash;

/// What a read of a known file found.
#[derive(Debug)]
pub(super) enum Finding {
    /// The file has this version now, which is recorded.
    Version(Hash),
    /// The file cannot be read and may still exist, with the reason. Earlier knowledge of it
    /// stands.
    OutOfReach(String),
    /// Nothing is known about the file: its place is unknown, or it was forgotten.
    Nothing,
}
