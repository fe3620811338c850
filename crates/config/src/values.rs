//! Settings given by a program, the environment or the text of a file. Must not read files.

use std::path::Path;

use serde_json::{Map, Value};

use super::Settings;
use super::validation::ANY_SETTING;
use base::error::{Error, Result};

/// The settings in the text of the file at `path`, which may begin with a byte order mark.
///
/// # Errors
/// `INVALID_SETTINGS` if it is not a JSON object.
pub fn settings_in(path: &Path, text: &str) -> Result<Map<String, Value>> {
    let wrong = |problem: String| Error::InvalidSettings { path: path.to_owned(), problem };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str(text).map_err(|error| wrong(format!("not JSON: {error}")))? {
        Value::Object(values) => Ok(values),
        _ => Err(wrong("must be an object with the settings as keys".to_owned())),
    }
}

impl Settings {
    /// Reads settings given by a program; missing ones get their defaults.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, which names each wrong key and what was expected.
    pub fn from_json(value: Value) -> Result<Self> {
        let wrong = |problem: String| Error::argument("settings", problem);
        let Value::Object(values) = value else {
            return Err(wrong("must be an object with the settings as keys".to_owned()));
        };
        let problems = ANY_SETTING.problems(&values);
        if problems.is_empty() {
            Self::from_checked(values)
        } else {
            Err(wrong(format!("has wrong values: {}", problems.join("; "))))
        }
    }

    /// Lets the environment override what belongs to one session: `mounts` by `PALIMPSEST_MOUNTS`
    /// (the setting as JSON), `sandbox` by `PALIMPSEST_SANDBOX`, and `xtdbUrl` by
    /// `PALIMPSEST_XTDB_URL` (empty: share nothing).
    ///
    /// `variable`: the value of an environment variable.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, which names the variable and what is wrong.
    pub fn in_environment(mut self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        for (name, key) in [
            ("PALIMPSEST_MOUNTS", "mounts"),
            ("PALIMPSEST_SANDBOX", "sandbox"),
            ("PALIMPSEST_XTDB_URL", "xtdbUrl"),
        ] {
            let Some(text) = variable(name) else { continue };
            let wrong = |problem: String| Error::argument(name, problem);
            let value = match key {
                "mounts" => serde_json::from_str(&text)
                    .map_err(|error| wrong(format!("is not JSON: {error}")))?,
                "xtdbUrl" if text.trim().is_empty() => Value::Null,
                _ => Value::from(text),
            };
            let values = Map::from_iter([(key.to_owned(), value)]);
            if let Some(problem) = ANY_SETTING.problems(&values).first() {
                return Err(wrong(format!("is refused: {problem}")));
            }
            let given = Self::from_checked(values)?;
            match key {
                "mounts" => self.mounts = given.mounts,
                "sandbox" => self.sandbox = given.sandbox,
                _ => self.xtdb_url = given.xtdb_url,
            }
        }
        Ok(self)
    }

    /// Settings from values that the rules have checked.
    ///
    /// # Errors
    /// `INTERNAL` if they were not.
    pub fn from_checked(values: Map<String, Value>) -> Result<Self> {
        serde_json::from_value(Value::Object(values))
            .map_err(|error| Error::internal(format!("settings passed validation: {error}")))
    }
}
