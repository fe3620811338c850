//! `loadSettings`.

use std::path::Path;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use serde_json::Value;

use super::argument::Given;
use super::blocking::{Blocking, Json, blocking};
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::store::Store;

/// Where settings are read from.
#[napi(object)]
pub struct SettingsPlaces {
    /// The agent's folder; its `palimpsest.json` holds the user's settings.
    pub agent_dir: Option<String>,
    /// The project's folder, only if the user trusts it; its `.pi/palimpsest.json` stands over the user's.
    pub project_dir: Option<String>,
}

/// Reads and checks the settings; what no file sets has its default.
///
/// Rejects with `INVALID_SETTINGS`, naming the file, each wrong key and what was expected, and `INVALID_ARGUMENT`.
#[napi(ts_args_type = "places: SettingsPlaces", ts_return_type = "Promise<Settings>")]
pub fn load_settings(places: Given<SettingsPlaces>) -> AsyncTask<Blocking<Json>> {
    blocking(move || {
        let places = places.named("places")?;
        let agent_dir = places.agent_dir.as_deref().map(Path::new);
        let settings = Settings::load(agent_dir, places.project_dir.as_deref().map(Path::new))?;
        serde_json::to_value(settings).map(Json).map_err(|error| Error::internal(error.to_string()))
    })
}

/// Settings as a caller gives them, complete or in part, and what the environment says of the agent's sandbox.
pub(super) fn settings_from(value: Option<Value>) -> Result<Settings> {
    let settings = value.map_or_else(|| Ok(Settings::default()), Settings::from_json)?;
    let variable = |name| std::env::var(name).ok();
    let (mounts, sandbox) = (variable("PALIMPSEST_MOUNTS"), variable("PALIMPSEST_SANDBOX"));
    settings.in_sandbox(mounts.as_deref(), sandbox.as_deref())
}

/// The filesystem that files belong to, by environment and settings.
pub(super) fn filesystem_id(settings: &Settings, store: &Store) -> Result<String> {
    let env = std::env::var("PALIMPSEST_FILESYSTEM_ID").ok();
    settings.filesystem_id(env.as_deref(), Path::new(store.path()))
}
