//! Reads the file that the setting `hazards` names. Must not know what the weights mean.

use std::path::Path;

use base::error::{Error, Result};
use context::hazard::Hazards;

/// Reads weights from a file.
///
/// # Errors
/// `FILE` if it cannot be read; `INVALID_ARGUMENT` as of [`Hazards::parse`].
pub(super) fn read(path: &Path) -> Result<Hazards> {
    let json = std::fs::read_to_string(path).map_err(|source| Error::File {
        act: "read",
        path: path.to_owned(),
        source,
    })?;
    Hazards::parse(&json)
}
