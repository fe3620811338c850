//! Finds where the store is. Must not open it.

use std::path::{Path, PathBuf};

use base::error::{Error, Result};
use base::path::absolute_path;
use config::Settings;
use source::data_folder;

/// Where the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePlace {
    /// In memory: it ends with the process.
    Memory,
    /// A file, by its absolute path; it may not exist yet.
    File(PathBuf),
}

/// Finds where the store is. The first of these that is given counts: `env` (the value of
/// `PALIMPSEST_STORE`), the setting, `<agentDir>/palimpsest/store.sqlite`, `store.sqlite` in the
/// platform's data folder.
///
/// `~` is expanded. A relative path is resolved from `cwd` in `env`, and from `agent_dir` in the
/// setting.
///
/// # Errors
/// `INVALID_ARGUMENT` if `env` or the setting is empty, or there is neither an agent folder nor a
/// home folder.
pub fn store_place(
    env: Option<&str>,
    settings: &Settings,
    agent_dir: Option<&Path>,
    cwd: &Path,
) -> Result<StorePlace> {
    let settings_folder = agent_dir.unwrap_or(cwd);
    let given = match (env, &settings.store) {
        (Some(path), _) => Some(("PALIMPSEST_STORE", path, cwd)),
        (None, Some(path)) => Some(("store", path.as_str(), settings_folder)),
        (None, None) => None,
    };
    match given {
        Some((name, path, _)) if path.trim().is_empty() => Err(Error::argument(name, "is empty")),
        Some((_, ":memory:", _)) => Ok(StorePlace::Memory),
        Some((_, path, base)) => Ok(StorePlace::File(absolute_path(path, base))),
        None => Ok(StorePlace::File(own_folder(agent_dir)?.join("store.sqlite"))),
    }
}

/// This program's own folder of the user: `palimpsest/` in the harness's folder, else the
/// platform's data folder.
///
/// # Errors
/// `INVALID_ARGUMENT` if there is neither an agent folder nor a home folder.
pub(super) fn own_folder(agent_dir: Option<&Path>) -> Result<PathBuf> {
    match agent_dir {
        Some(agent_dir) => Ok(agent_dir.join("palimpsest")),
        None => data_folder(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_environment_overrides_the_setting_for_the_stores_place() {
        let agent = Some(Path::new("/agent"));
        let set = |store: &str| Settings { store: Some(store.into()), ..Settings::default() };
        let place = |env, settings: &Settings, agent| {
            store_place(env, settings, agent, Path::new("/cwd")).unwrap()
        };
        let file = |path: &str| StorePlace::File(path.into());
        let none = Settings::default();
        assert_eq!(place(None, &none, agent), file("/agent/palimpsest/store.sqlite"));
        let data = data_folder().unwrap().join("store.sqlite");
        assert_eq!(place(None, &none, None), StorePlace::File(data));
        assert_eq!(place(None, &set("a/../b"), agent), file("/agent/b"));
        assert_eq!(place(None, &set("b"), None), file("/cwd/b"));
        assert_eq!(place(Some("c"), &set("b"), agent), file("/cwd/c"));
        assert_eq!(place(Some(":memory:"), &set("b"), agent), StorePlace::Memory);
        let home = std::env::home_dir().unwrap();
        assert_eq!(place(Some("~/d"), &none, agent), StorePlace::File(home.join("d")));
        for (env, settings) in [(Some(""), set("b")), (None, set(""))] {
            let error = store_place(env, &settings, agent, Path::new("/cwd")).unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENT");
        }
    }
}
