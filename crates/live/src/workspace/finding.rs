//! What a read of a known file can find. Holds no behaviour.

use base::object::Hash;

/// What a read of a known file found.
#[derive(Debug)]
pub(super) enum Finding {
    /// The file has this version now, which is recorded.
    Version {
        now: Hash,
        /// Whether the session knew another version.
        is_new: bool,
        /// Whether the file is deleted.
        is_gone: bool,
    },
    /// The file cannot be read and may still exist, and why. What was known of it stands.
    OutOfReach(String),
    /// Nothing can be said of the file: its place is not known, or it was forgotten.
    Nothing,
}
