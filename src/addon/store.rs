//! `openStore` and the class `Store`.

use std::path::Path;
use std::sync::Arc;

use napi_derive::napi;

use super::argument::{Json, Maybe};
use super::blocking::{OnWorker, Promised, blocking};
use super::settings::settings_from;
use super::trackings::Trackings;
use base::error::Result;
use config::Settings;
use files::looks::{Deadline, Late};
use settings::{StorePlace, store_place};

/// Opening may wait this many times as long as a call.
pub(super) const OPENING: u32 = 5;

/// Where a store is.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct StoreOptions {
    /// A file, or `:memory:`. Default: `PALIMPSEST_STORE`, else the setting `store`, else
    /// `<agentDir>/palimpsest/store.sqlite`, else `store.sqlite` in the platform's data folder.
    pub path: Option<String>,
    /// Settings, complete or in part. `store` says where the store is; others, how names are resolved and files indexed.
    #[napi(ts_type = "Partial<Settings>")]
    pub settings: Option<Json>,
    /// The agent's folder, which a relative path in the settings counts from.
    pub agent_dir: Option<String>,
    /// Whether to create a store that does not exist, instead of rejecting with `STORE_UNAVAILABLE`. Default: `true`.
    pub create: Option<bool>,
    /// Whether the store is only looked at: nothing is made, brought up to date or written, and what would write rejects with
    /// `READ_ONLY`. The folder and the file may be ones that cannot be written. Default: `false`.
    pub read_only: Option<bool>,
}

/// A store of versioned objects: a SQLite file, which any number of processes can share.
#[napi]
#[derive(Clone)]
pub struct Store {
    pub(super) core: store::Store,
    pub(super) settings: Arc<Settings>,
    pub(super) trackings: Arc<Trackings>,
}

impl OnWorker for Store {}

/// Opens a store. Creates the file and its folder if they are missing, unless `create` is false or `readOnly` is true.
///
/// Rejects with `INVALID_ARGUMENT`, `STORE_UNAVAILABLE`, `STORE_CORRUPT`, `NOT_PRIVATE`, `READ_ONLY`, `NEWER_SCHEMA`, `NO_SPACE`.
#[napi(
    ts_args_type = "options?: StoreOptions | undefined | null",
    ts_return_type = "Promise<Store>"
)]
pub fn open_store(options: Maybe<StoreOptions>) -> Promised<Store> {
    blocking(move || {
        let options = options.or_default("options")?;
        let open = match (options.read_only, options.create) {
            (Some(true), _) => store::Store::open_read_only,
            (_, Some(false)) => store::Store::open_existing,
            _ => store::Store::open,
        };
        let (path, settings) = place(options)?;
        // Another process may keep it busy for a while, and no call waits for it yet.
        let deadline = Deadline::new("store", settings.deadline() * OPENING);
        let core = deadline.wait_for(Late::Written, move || open(&path))?;
        Ok(Store { core, settings: Arc::new(settings), trackings: Arc::default() })
    })
}

/// Resolves to the absolute path of the store that `openStore` would open with these options, or `:memory:`. Opens nothing.
///
/// Rejects with `INVALID_ARGUMENT`.
#[napi(
    ts_args_type = "options?: StoreOptions | undefined | null",
    ts_return_type = "Promise<string>"
)]
pub fn store_path(options: Maybe<StoreOptions>) -> Promised<String> {
    blocking(move || Ok(place(options.or_default("options")?)?.0))
}

/// Where the store is, and the settings.
fn place(options: StoreOptions) -> Result<(String, Settings)> {
    let env = std::env::var("PALIMPSEST_STORE").ok();
    let settings = settings_from(options.settings)?;
    let cwd = std::env::current_dir().unwrap_or_default();
    let given = options.path.or(env);
    let agent_dir = options.agent_dir.as_deref().map(Path::new);
    let path = match store_place(given.as_deref(), &settings, agent_dir, &cwd)? {
        StorePlace::Memory => ":memory:".to_owned(),
        StorePlace::File(path) => path.to_string_lossy().into_owned(),
    };
    Ok((path, settings))
}

#[napi]
impl Store {
    /// ID of the store, made when it was created.
    #[napi(getter)]
    pub fn id(&self) -> String {
        self.core.id().to_owned()
    }

    /// Absolute path of the file, or `:memory:`.
    #[napi(getter)]
    pub fn path(&self) -> String {
        self.core.path().to_owned()
    }

    /// A message for the user about a problem with the store: it is on a network file system, or writes were missing when it was
    /// opened. Null if there is none.
    #[napi(getter)]
    pub fn notice(&self) -> Option<String> {
        self.core.notice().map(str::to_owned)
    }

    /// Ends the store's trackings and closes the file. Later calls reject with `CLOSED`. Idempotent. Rejects with `NO_ANSWER` where a
    /// disk does not answer; what hangs ends with the process.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close(&self) -> Promised<()> {
        self.with(|store| {
            let (store, deadline) = (store.clone(), store.settings.deadline());
            Deadline::new("store", deadline).wait_for(Late::Written, move || {
                store.trackings.close();
                store.core.close()
            })
        })
    }
}
