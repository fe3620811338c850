//! Reading settings: `loadSettings`, and settings that a caller gives.

use std::path::Path;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use serde_json::Value;

use super::argument::Given;
use super::blocking::{Blocking, Json, blocking};
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::source::OwnFilesystem;
use crate::store::Store;

/// Where to read settings from.
#[napi(object)]
pub struct SettingsPlaces {
    /// The agent's folder; its `palimpsest.json` holds the user's settings.
    pub agent_dir: Option<String>,
    /// The project's folder. Its `.pi/palimpsest.json` overrides the user's settings, so give it only if the user trusts the project.
    pub project_dir: Option<String>,
    /// Keys of the settings that the caller needs: a wrong value of another is passed over, and its default counts. Default: all.
    pub needed: Option<Vec<String>>,
}

/// Reads and checks the settings. Keys that no file sets have their defaults.
///
/// Rejects with `INVALID_ARGUMENT`, and with `INVALID_SETTINGS`, which names the file, each wrong key and what was expected.
#[napi(ts_args_type = "places: SettingsPlaces", ts_return_type = "Promise<Settings>")]
pub fn load_settings(places: Given<SettingsPlaces>) -> AsyncTask<Blocking<Json>> {
    blocking(move || {
        let places = places.named("places")?;
        let agent_dir = places.agent_dir.as_deref().map(Path::new);
        let project_dir = places.project_dir.as_deref().map(Path::new);
        let is_needed =
            |key: &str| places.needed.as_ref().is_none_or(|keys| keys.iter().any(|one| one == key));
        let settings = Settings::load_needed(agent_dir, project_dir, &is_needed)?;
        serde_json::to_value(settings).map(Json).map_err(|error| Error::internal(error.to_string()))
    })
}

/// Settings that a caller gives, complete or in part, with those that the environment sets for the agent's sandbox.
pub(super) fn settings_from(value: Option<Value>) -> Result<Settings> {
    let settings = value.map_or_else(|| Ok(Settings::default()), Settings::from_json)?;
    let variable = |name| std::env::var(name).ok();
    let (mounts, sandbox) = (variable("PALIMPSEST_MOUNTS"), variable("PALIMPSEST_SANDBOX"));
    settings.in_sandbox(mounts.as_deref(), sandbox.as_deref())
}

/// The filesystem that files belong to, from the environment or the settings.
pub(super) fn own_filesystem(settings: &Settings, store: &Store) -> Result<OwnFilesystem> {
    let env = std::env::var("PALIMPSEST_FILESYSTEM_ID").ok();
    settings.own_filesystem(env.as_deref(), store)
}
