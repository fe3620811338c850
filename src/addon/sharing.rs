//! A store that several machines share: the class `SharedStore`, and `migrate`. Must not decide
//! anything.

use std::path::PathBuf;
use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use napi_derive::napi;

use super::archive::{ChangedLatest, LeftOutOfImport, PartedSession};
use super::argument::Given;
use super::blocking::{Blocking, blocking, to_js};
use super::sessions::{SharedSession, shared_session};
use super::store::Store;
use super::version::count;
use base::error::{Error, Result};
use base::object::Timestamp;
use base::path::absolute_path;
use config::{Settings, XtdbOptions};
use store::{Progress, Stage};
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

/// How far a push, a pull or a migration is.
#[napi(object, use_nullable = true)]
pub struct SharingProgress {
    /// What is being done.
    #[napi(ts_type = "\"sending\" | \"taking\" | \"checking\"")]
    pub stage: String,
    /// Versions done.
    pub done: i64,
    /// All versions; null if that is not known.
    pub of: Option<i64>,
}

/// How a store and the shared one stand.
#[napi(object, use_nullable = true)]
pub struct SharingStatus {
    /// Address of the server.
    pub url: String,
    /// ID of the shared store; null if it was never reached.
    pub store_id: Option<String>,
    /// Transactions of this store that wait to be sent.
    pub outbox: i64,
    /// Time of the oldest of them, in RFC 3339, UTC; null if none waits.
    pub oldest: Option<String>,
    /// Transactions of the shared store that wait to be fetched; null if the server was not asked.
    pub behind: Option<i64>,
    /// When nothing waited last, in RFC 3339, UTC; null if that never was.
    pub last: Option<String>,
    /// Why sharing does not work at the moment; null if it works.
    pub error: Option<SharingError>,
    /// Versions of others that wait because their time is far ahead of this machine's clock.
    pub ahead: i64,
    /// Whether sessions are shared too.
    pub sessions: bool,
}

/// Why sharing does not work.
#[napi(object)]
pub struct SharingError {
    /// Code of the error.
    pub code: String,
    /// The error, for people.
    pub message: String,
    /// When it came up first, in RFC 3339, UTC.
    pub since: String,
}

/// What was sent to the shared store.
#[napi(object)]
pub struct PushReport {
    /// Versions that the shared store did not have before.
    pub versions: i64,
    /// Versions that it had already.
    pub present: i64,
    /// Objects that were forgotten here, and now there.
    pub forgotten: i64,
    /// What stays here, and why.
    pub left_out: Vec<LeftOutOfImport>,
}

/// What was fetched from the shared store.
#[napi(object)]
pub struct PullReport {
    /// Versions that this store did not have before.
    pub versions: i64,
    /// Versions that it had already.
    pub present: i64,
    /// Objects whose latest version is another now.
    pub changed: Vec<ChangedLatest>,
    /// Sessions that went on here in another way. The one here is as it was.
    pub parted: Vec<PartedSession>,
    /// Objects that were forgotten there, and now here.
    pub forgotten: i64,
    /// What was not taken, and why.
    pub left_out: Vec<LeftOutOfImport>,
    /// Documents that are not what this program writes, in words; everything else was taken.
    pub broken: Vec<String>,
}

/// What an XTDB server says of itself.
#[napi(object)]
pub struct SharedServer {
    /// Its address.
    pub url: String,
    /// Version of XTDB.
    pub version: String,
    /// What its index is kept in.
    pub kv_store: String,
    /// Whether it indexes nothing any more, until it is started again.
    pub ingester_failed: bool,
    /// By how many milliseconds its clock is ahead of this machine's; negative: behind.
    pub clock_ahead_ms: i64,
    /// How long it took to answer, in milliseconds.
    pub answered_in_ms: i64,
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

/// What a migration did.
#[napi(object)]
pub struct MigrationReport {
    /// Objects of the first store whose every version was compared.
    pub objects: i64,
    /// Versions that the second store did not have before.
    pub versions: i64,
    /// Versions that it had already.
    pub present: i64,
    /// Nicknames given.
    pub nicknames: i64,
    /// Versions that are in both stores, with the same hashes, and were read again from the second.
    pub verified: i64,
    /// What was not taken, and why.
    pub left_out: Vec<LeftOutOfImport>,
}

/// A store in XTDB that several machines share, beside a store of one's own. Nothing reaches the network before a method that says so.
#[napi]
pub struct SharedStore {
    core: Arc<Sharing>,
    options: XtdbOptions,
    local: store::Store,
}

type Listener = ThreadsafeFunction<SharingProgress, (), SharingProgress, Status, false, true>;

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
    pub fn shared(
        &self,
        options: Given<Option<SharedStoreOptions>>,
    ) -> AsyncTask<Blocking<SharedStore>> {
        let (local, settings) = (self.core.clone(), Arc::clone(&self.settings));
        blocking(move || {
            let given = options.named("options")?.unwrap_or_default();
            let sessions = given.sessions.unwrap_or(settings.share_sessions);
            let options = reached(given, &settings)?;
            let what =
                SharingOptions { sessions, ..SharingOptions::of(&settings, options.clone())? };
            let core = Sharing::new(local.clone(), what);
            Ok(SharedStore { core: Arc::new(core), options, local })
        })
    }
}

#[napi]
impl SharedStore {
    /// What this store knows of how it stands with the shared one. Does not ask the server.
    ///
    /// Rejects with `CLOSED` and with what the store reports.
    #[napi(ts_return_type = "Promise<SharingStatus>")]
    pub fn status(&self) -> AsyncTask<Blocking<SharingStatus>> {
        let core = Arc::clone(&self.core);
        blocking(move || core.status().map(SharingStatus::from))
    }

    /// The same, having asked the server. What is wrong with that is the `error` of the answer.
    ///
    /// Rejects as `status`.
    #[napi(ts_return_type = "Promise<SharingStatus>")]
    pub fn look(&self) -> AsyncTask<Blocking<SharingStatus>> {
        let core = Arc::clone(&self.core);
        blocking(move || core.look().map(SharingStatus::from))
    }

    /// Asks the server what it is, and for the time. Writes nothing there, and needs no database that is ours.
    ///
    /// Rejects with `XTDB_UNAVAILABLE`, `XTDB_REFUSED`, `XTDB_FOREIGN`, `XTDB_FAILED`, `XTDB_ANSWER`, `INVALID_ARGUMENT`, and with
    /// `NOT_PRIVATE` or `FILE` for the token's file.
    #[napi(ts_return_type = "Promise<SharedServer>")]
    pub fn server(&self) -> AsyncTask<Blocking<SharedServer>> {
        let options = self.options.clone();
        blocking(move || xtdb::examine_xtdb(&options).map(SharedServer::from))
    }

    /// Sends what waits here: files, and sessions where they are shared. What the shared store has already is not sent again.
    ///
    /// Rejects as `server`, with `XTDB_DOCUMENT`, and as `status`. What was sent before an error stays there.
    #[napi(
        ts_args_type = "onProgress?: (progress: SharingProgress) => void",
        ts_return_type = "Promise<PushReport>",
        catch_unwind
    )]
    pub fn push(
        &self,
        env: Env,
        on_progress: Given<Option<Function<'_, SharingProgress, ()>>>,
    ) -> napi::Result<AsyncTask<Blocking<PushReport>>> {
        let core = Arc::clone(&self.core);
        let listener = listener(env, on_progress)?;
        Ok(blocking(move || core.push(&mut told(listener)).map(PushReport::from)))
    }

    /// Fetches what others sent.
    ///
    /// Rejects as `push`. What was fetched before an error stays here.
    #[napi(
        ts_args_type = "onProgress?: (progress: SharingProgress) => void",
        ts_return_type = "Promise<PullReport>",
        catch_unwind
    )]
    pub fn pull(
        &self,
        env: Env,
        on_progress: Given<Option<Function<'_, SharingProgress, ()>>>,
    ) -> napi::Result<AsyncTask<Blocking<PullReport>>> {
        let core = Arc::clone(&self.core);
        let listener = listener(env, on_progress)?;
        Ok(blocking(move || core.pull(&mut told(listener)).map(PullReport::from)))
    }

    /// Sends one session, whole, without what looks like a secret, whatever the settings say of sessions. `name`: as for
    /// `Store.findSession`.
    ///
    /// Rejects as `push`, and as `Store.findSession`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<PushReport>")]
    pub fn push_session(&self, name: Given<String>) -> AsyncTask<Blocking<PushReport>> {
        let (core, local) = (Arc::clone(&self.core), self.local.clone());
        blocking(move || {
            let id = live::find_session(&local, &name.named("name")?)?;
            core.push_session(&id).map(PushReport::from)
        })
    }

    /// Fetches a session that somebody sent, with all objects that it refers to. `name`: its ID, with or without `session:`, or the
    /// host's session ID.
    ///
    /// Rejects as `push`, and with `UNKNOWN_NAME` and `AMBIGUOUS_NAME`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<PullReport>")]
    pub fn pull_session(&self, name: Given<String>) -> AsyncTask<Blocking<PullReport>> {
        let core = Arc::clone(&self.core);
        blocking(move || core.pull_session(&name.named("name")?).map(PullReport::from))
    }

    /// Lists the sessions that the shared store has, those written last first.
    ///
    /// Rejects as `push`.
    #[napi(ts_return_type = "Promise<SharedSession[]>")]
    pub fn sessions(&self) -> AsyncTask<Blocking<Vec<SharedSession>>> {
        let core = Arc::clone(&self.core);
        blocking(move || Ok(core.sessions()?.iter().map(shared_session).collect()))
    }
}

/// Brings all that one store holds into another, a file or a shared one, and compares both by hashes afterwards. What the second store
/// has stays as it is, so that a migration may be repeated. A file that is not there is made.
///
/// Rejects with `INVALID_ARGUMENT`, as `openStore` and as `SharedStore.push`, and with `HASH_MISMATCH` if something differs.
#[napi(
    ts_args_type = "from: MigrationPlace, to: MigrationPlace, onProgress?: (progress: SharingProgress) => void",
    ts_return_type = "Promise<MigrationReport>",
    catch_unwind
)]
pub fn migrate(
    env: Env,
    from: Given<MigrationPlace>,
    to: Given<MigrationPlace>,
    on_progress: Given<Option<Function<'_, SharingProgress, ()>>>,
) -> napi::Result<AsyncTask<Blocking<MigrationReport>>> {
    let listener = listener(env, on_progress)?;
    Ok(blocking(move || {
        let (from, to) = (from.named("from")?, to.named("to")?);
        let source = opened(from, "from", store::Store::open_existing)?;
        let migrated = opened(to, "to", store::Store::open).and_then(|target| {
            let migrated = xtdb::migrate(&source, &target, &mut told(listener));
            target.close()?;
            migrated
        });
        source.close()?;
        migrated.map(MigrationReport::from)
    }))
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

fn listener(
    env: Env,
    on_progress: Given<Option<Function<'_, SharingProgress, ()>>>,
) -> napi::Result<Option<Listener>> {
    match on_progress.named("onProgress") {
        Ok(None) => Ok(None),
        Ok(Some(function)) => function.build_threadsafe_function().weak::<true>().build().map(Some),
        Err(error) => Err(to_js(env, &error)?),
    }
}

/// Tells the listener, but only once for some hundred versions.
fn told(listener: Option<Listener>) -> impl FnMut(Progress) -> Result<()> {
    move |progress| {
        if let Some(listener) = &listener {
            listener.call(SharingProgress::from(progress), ThreadsafeFunctionCallMode::NonBlocking);
        }
        Ok(())
    }
}

impl From<Progress> for SharingProgress {
    fn from(Progress { stage, done, of }: Progress) -> Self {
        let stage = match stage {
            Stage::Sending | Stage::Exporting => "sending",
            Stage::Taking | Stage::Importing => "taking",
            Stage::Checking => "checking",
        };
        Self { stage: stage.to_owned(), done: count(done), of: of.map(count) }
    }
}

impl From<xtdb::SharingStatus> for SharingStatus {
    fn from(status: xtdb::SharingStatus) -> Self {
        let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
        Self {
            url: status.url,
            store_id: status.store_id,
            outbox: count(status.outbox),
            oldest: time(status.oldest),
            behind: status.behind.map(count),
            last: time(status.last),
            error: status.error.map(|error| SharingError {
                code: error.code,
                message: error.message,
                since: error.since.to_string(),
            }),
            ahead: count(status.ahead),
            sessions: status.sessions,
        }
    }
}

impl From<xtdb::Pushed> for PushReport {
    fn from(pushed: xtdb::Pushed) -> Self {
        Self {
            versions: count(pushed.versions),
            present: count(pushed.present),
            forgotten: count(pushed.forgotten),
            left_out: pushed.left_out.into_iter().map(LeftOutOfImport::from).collect(),
        }
    }
}

impl From<xtdb::Pulled> for PullReport {
    fn from(pulled: xtdb::Pulled) -> Self {
        Self {
            versions: count(pulled.versions),
            present: count(pulled.present),
            changed: pulled.changed.into_iter().map(ChangedLatest::from).collect(),
            parted: pulled.parted.into_iter().map(PartedSession::from).collect(),
            forgotten: count(pulled.forgotten),
            left_out: pulled.left_out.into_iter().map(LeftOutOfImport::from).collect(),
            broken: pulled.broken,
        }
    }
}

impl From<xtdb::Migrated> for MigrationReport {
    fn from(migrated: xtdb::Migrated) -> Self {
        Self {
            objects: count(migrated.objects),
            versions: count(migrated.versions),
            present: count(migrated.present),
            nicknames: count(migrated.nicknames),
            verified: count(migrated.verified),
            left_out: migrated.left_out.into_iter().map(LeftOutOfImport::from).collect(),
        }
    }
}

impl From<xtdb::XtdbServer> for SharedServer {
    fn from(server: xtdb::XtdbServer) -> Self {
        Self {
            url: server.url,
            version: server.version,
            kv_store: server.kv_store,
            ingester_failed: server.ingester_failed,
            clock_ahead_ms: server.clock_ahead_ms,
            answered_in_ms: server.answered_in_ms,
        }
    }
}
