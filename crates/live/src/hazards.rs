//! Reads the file that the setting `hazards` names. Must not know what the weights mean.

use base::error::{Error, Result};
use base::path::absolute_path;
use context::hazard::Hazards;

use crate::OpenSession;

/// The weights that the settings of a session name.
///
/// # Errors
/// `FILE` if the file cannot be read; `INVALID_ARGUMENT` as of [`Hazards::parse`].
pub fn hazards_of(options: &OpenSession) -> Result<Hazards> {
    let Some(given) = &options.settings.hazards else { return Ok(Hazards::shipped().clone()) };
    let path = absolute_path(given, &options.cwd);
    let json = std::fs::read_to_string(&path);
    let json = json.map_err(|source| Error::File { act: "read", path, source })?;
    Hazards::parse(&json)
}
