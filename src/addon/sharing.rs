//! A store that several machines share: the class `SharedStore`, and `migrate`. Must not decide
//! anything.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised, answering};
use super::progress::{Listener, told};
use super::sessions::shared_session;
use super::store::Store;
use base::error::{Error, Result};
use base::object::Timestamp;
use base::path::absolute_path;
use config::{Settings, XtdbOptions};
use xtdb::{Sharing, SharingOptions};

/// How to reach a shared store.
#[napi(object)]
#[derive(Default)]
pub struct SharedStoreOptions {
    /// Address of XTDB's HTTP server. Default: the setting `xtdbUrl`, over which `PALIMPSEST_XTDB_URL` counts.
    pub url: Option<String>,
    /// File with the token to send, readable for its user only. Default: the setting `xtdbTokenFile`; none with a `url` that is not
    /// that of the settings.
    pub token_file: Option<String>,
    /// File with certificate authorities in PEM form. Default: the setting `xtdbCaFile`, in the same way.
    pub ca_file: Option<String>,
    /// Whether `push` and `pull` share sessions too. Default: the setting `shareSessions`.
    pub sessions: Option<bool>,
}

/// A store: a file, or a shared one by its address. One of `path` and `url`.
#[napi(object)]
pub struct MigrationPlace {
    /// The store's file.
    pub path: Option<String>,
    /// Address of XTDB's HTTP server.
    pub url: Option<String>,
    /// File with the token to send, readable for its user only.
    pub token_file: Option<String>,
    /// File with certificate authorities in PEM form.
    pub ca_file: Option<String>,
}

/// A store in XTDB that several machines share, beside a store of one's own. Nothing reaches the network before a method that says so.
#[napi]
#[derive(Clone)]
pub struct SharedStore {
    core: Arc<Sharing>,
    options: XtdbOptions,
    local: store::Store,
}

impl OnWorker for SharedStore {}

#[napi]
impl Store {
    /// The shared store beside this one. Asks nobody yet. The settings that `openStore` was given say what is missing in `options`, and
    /// by `exclude` and `excludeAlso` of which files the text stays here, beside that of memory.
    ///
    /// Rejects with `INVALID_ARGUMENT` if no address is given or set, or it is none of a server.
    #[napi(
        ts_args_type = "options?: SharedStoreOptions | undefined | null",
        ts_return_type = "Promise<SharedStore>"
    )]
    pub fn shared(&self, options: Maybe<SharedStoreOptions>) -> Promised<SharedStore> {
        self.with(move |Self { core: local, settings, .. }| {
            let given = options.or_default("options")?;
            let sessions = given.sessions.unwrap_or(settings.share_sessions);
            let options = reached(given, settings)?;
            let what =
                SharingOptions { sessions, ..SharingOptions::of(settings, options.clone())? };
            let core = Sharing::new(local.clone(), what);
            Ok(SharedStore { core: Arc::new(core), options, local: local.clone() })
        })
    }
}

#[napi]
impl SharedStore {
    /// What this store knows of how it stands with the shared one. Does not ask the server.
    ///
    /// Rejects with `CLOSED` and with what the store reports.
    #[napi(ts_return_type = "Promise<SharingStatus>")]
    pub fn status(&self) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| core.status().map(|status| sharing_status(&status)))
    }

    /// The same, having asked the server. What is wrong with that is the `error` of the answer.
    ///
    /// Rejects as `status`.
    #[napi(ts_return_type = "Promise<SharingStatus>")]
    pub fn look(&self) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| core.look().map(|status| sharing_status(&status)))
    }

    /// Asks the server what it is, and for the time. Writes nothing there, and needs no database that is ours.
    ///
    /// Rejects with `XTDB_UNAVAILABLE`, `XTDB_REFUSED`, `XTDB_FOREIGN`, `XTDB_FAILED`, `XTDB_ANSWER`, `INVALID_ARGUMENT`, and with
    /// `NOT_PRIVATE` or `FILE` for the token's file.
    #[napi(ts_return_type = "Promise<SharedServer>")]
    pub fn server(&self) -> Promised<Answer> {
        self.answer(|Self { options, .. }| xtdb::examine_xtdb(options))
    }

    /// Sends what waits here: files, and sessions where they are shared. What the shared store has already is not sent again.
    ///
    /// Rejects as `server`, with `XTDB_DOCUMENT`, and as `status`. What was sent before an error stays there.
    #[napi(
        ts_args_type = "onProgress?: (progress: SharingProgress) => void",
        ts_return_type = "Promise<PushReport>"
    )]
    pub fn push(&self, on_progress: Maybe<Listener>) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| core.push(&mut told(on_progress)?))
    }

    /// Fetches what others sent.
    ///
    /// Rejects as `push`. What was fetched before an error stays here.
    #[napi(
        ts_args_type = "onProgress?: (progress: SharingProgress) => void",
        ts_return_type = "Promise<PullReport>"
    )]
    pub fn pull(&self, on_progress: Maybe<Listener>) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| core.pull(&mut told(on_progress)?))
    }

    /// Sends one session, whole, without what looks like a secret, whatever the settings say of sessions. `name`: as for
    /// `Store.findSession`.
    ///
    /// Rejects as `push`, and as `Store.findSession`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<PushReport>")]
    pub fn push_session(&self, name: Given<String>) -> Promised<Answer> {
        self.answer(move |Self { core, local, .. }| {
            let id = live::find_session(local, &name.named("name")?)?;
            core.push_session(&id)
        })
    }

    /// Fetches a session that somebody sent, with all objects that it refers to. `name`: its ID, with or without `session:`, or the
    /// host's session ID.
    ///
    /// Rejects as `push`, and with `UNKNOWN_NAME` and `AMBIGUOUS_NAME`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<PullReport>")]
    pub fn pull_session(&self, name: Given<String>) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| core.pull_session(&name.named("name")?))
    }

    /// Fetches sessions that others sent: with `new` those that are not here yet, with `all` also what was added to those that are.
    ///
    /// Rejects as `push`. What was fetched before an error stays here.
    #[napi(
        ts_args_type = "which: 'new' | 'all', onProgress?: (progress: SharingProgress) => void",
        ts_return_type = "Promise<PullReport>"
    )]
    pub fn pull_sessions(
        &self,
        which: Given<String>,
        on_progress: Maybe<Listener>,
    ) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| {
            let all = match which.named("which")?.as_str() {
                "new" => false,
                "all" => true,
                _ => return Err(Error::argument("which", "has to be `new` or `all`")),
            };
            core.pull_sessions(all, &mut told(on_progress)?)
        })
    }

    /// Lists the sessions that the shared store has, those written last first.
    ///
    /// Rejects as `push`.
    #[napi(ts_return_type = "Promise<SharedSession[]>")]
    pub fn sessions(&self) -> Promised<Answer> {
        self.answer(move |Self { core, local, .. }| {
            let sessions = core.sessions()?;
            Ok(sessions.iter().map(|one| shared_session(local, one)).collect::<Vec<_>>())
        })
    }

    /// Lists the machines that share, those seen last first.
    ///
    /// Rejects as `push`.
    #[napi(ts_return_type = "Promise<SharingMachine[]>")]
    pub fn machines(&self) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| {
            let machine = |one: &xtdb::SharingMachine| {
                json!({
                    "storeId": one.store_id,
                    "machine": one.machine.machine,
                    "author": one.machine.author,
                    "seen": one.seen.to_string(),
                    "behind": one.behind,
                })
            };
            Ok(core.machines()?.iter().map(machine).collect::<Vec<_>>())
        })
    }

    /// Sends what a session left that ended: tries for so many seconds, or until nothing waits.
    ///
    /// Rejects as `push`, but not with `XTDB_UNAVAILABLE`.
    #[napi(ts_args_type = "seconds: number", ts_return_type = "Promise<void>")]
    pub fn finish(&self, seconds: Given<u32>) -> Promised<()> {
        self.with(move |Self { core, .. }| {
            core.finish(Duration::from_secs(seconds.named("seconds")?.into()))
        })
    }
}

/// Brings all that one store holds into another, a file or a shared one, and compares both by hashes afterwards. What the second store
/// has stays as it is, so that a migration may be repeated. A file that is not there is made.
///
/// Rejects with `INVALID_ARGUMENT`, as `openStore` and as `SharedStore.push`, and with `HASH_MISMATCH` if something differs.
#[napi(
    ts_args_type = "from: MigrationPlace, to: MigrationPlace, onProgress?: (progress: SharingProgress) => void",
    ts_return_type = "Promise<MigrationReport>"
)]
pub fn migrate(
    from: Given<MigrationPlace>,
    to: Given<MigrationPlace>,
    on_progress: Maybe<Listener>,
) -> Promised<Answer> {
    answering(move || {
        let (from, to) = (from.named("from")?, to.named("to")?);
        let mut tell = told(on_progress)?;
        let source = opened(from, "from", store::Store::open_existing)?;
        let migrated = opened(to, "to", store::Store::open).and_then(|target| {
            let migrated = xtdb::migrate(&source, &target, &mut tell);
            target.close()?;
            migrated
        });
        source.close()?;
        migrated
    })
}

fn opened(
    place: MigrationPlace,
    argument: &str,
    open: fn(&str) -> Result<store::Store>,
) -> Result<store::Store> {
    let cwd = std::env::current_dir().unwrap_or_default();
    let file = |path: Option<String>| path.map(|path| absolute_path(&path, &cwd));
    match (place.path, place.url) {
        (Some(path), None) => open(&absolute_path(&path, &cwd).to_string_lossy()),
        (None, Some(url)) => xtdb::connect(&XtdbOptions {
            url,
            token_file: file(place.token_file),
            ca_file: file(place.ca_file),
            writer: None,
        }),
        _ => Err(Error::argument(argument, "has to have one of `path` and `url`")),
    }
}

/// How to reach the shared store. The settings' details of their own server apply to no other
/// server.
fn reached(given: SharedStoreOptions, settings: &Settings) -> Result<XtdbOptions> {
    let cwd = std::env::current_dir().unwrap_or_default();
    let file = |path: &str| absolute_path(path, &cwd);
    let own = settings.shared_store();
    let mut options = match (given.url, own) {
        (Some(url), Some(own)) if url == own.url => own,
        (Some(url), _) => XtdbOptions { url, ..XtdbOptions::default() },
        (None, Some(own)) => own,
        (None, None) => {
            return Err(Error::argument("url", "is missing, and the setting `xtdbUrl` is not set"));
        }
    };
    if let Some(problem) = config::xtdb_url_problem(&options.url) {
        return Err(Error::argument("url", problem));
    }
    let or = |given: Option<String>, own: Option<PathBuf>| given.as_deref().map(file).or(own);
    options.token_file = or(given.token_file, options.token_file);
    options.ca_file = or(given.ca_file, options.ca_file);
    Ok(options)
}

/// A status in the shape of `SharingStatus` in `types`.
pub(super) fn sharing_status(status: &xtdb::SharingStatus) -> Value {
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
    json!({
        "url": status.url,
        "storeId": status.store_id,
        "outbox": status.outbox,
        "oldest": time(status.oldest),
        "behind": status.behind,
        "last": time(status.last),
        "error": status.error.as_ref().map(|error| {
            json!({
                "code": error.code,
                "message": error.message,
                "since": error.since.to_string(),
            })
        }),
        "ahead": status.ahead,
        "restored": status.restored.as_ref().map(|restored| {
            json!({
                "noticed": restored.noticed.to_string(),
                "isOther": restored.is_other,
                "versions": restored.versions,
                "done": time(restored.done),
            })
        }),
        "sessions": status.sessions,
    })
}
