//! Names of objects: `find`, `name`, `unname`, and resolving a name on a worker thread.

use std::path::PathBuf;

use napi_derive::napi;

use super::argument::{Given, Maybe};
use super::blocking::{OnWorker, Promised};
use super::settings::own_filesystem;
use super::store::Store;
use super::version::{At, selector};
use base::error::{Error, Result};
use base::object::{Nickname, Reading};
use source::{Namespace, PathPlace};

/// How to read a name.
#[napi(object)]
#[derive(Default)]
pub struct NameOptions {
    /// Folder that a relative path counts from, absolute. Default: the process's working folder.
    pub cwd: Option<String>,
}

/// Which version to read.
#[napi(object)]
#[derive(Default)]
pub struct ReadOptions {
    /// A transaction (`12`: the version that was visible then), a step back (`-1`: the version before the latest), or a time (RFC 3339,
    /// or a date: its first moment in UTC). Default: the latest version. Not together with a name such as `NAME@12`.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
}

impl Store {
    /// The version that a name selects.
    pub(super) fn version(&self, name: &str, options: ReadOptions) -> Result<store::Version> {
        self.part(name, options).map(|(version, _)| version)
    }

    /// The version that a name selects, and the lines of it.
    pub(super) fn part(
        &self,
        name: &str,
        options: ReadOptions,
    ) -> Result<(store::Version, Option<String>)> {
        let at = selector("at", options.at)?;
        self.place(options.cwd)?.version(&self.core, name, at)
    }

    /// The folder and filesystem to which relative paths refer.
    pub(super) fn place(&self, cwd: Option<String>) -> Result<PathPlace> {
        let cwd = match cwd {
            Some(cwd) => PathBuf::from(cwd),
            None => std::env::current_dir().unwrap_or_default(),
        };
        if !cwd.is_absolute() {
            let problem = format!("`{}` is not an absolute path", cwd.display());
            return Err(Error::argument("cwd", problem));
        }
        let own = own_filesystem(&self.settings, &self.core)?;
        let files = Namespace::of_client(&own.id, &self.settings.mounts)?;
        Ok(PathPlace { files: if own.is_container { files.in_container() } else { files }, cwd })
    }
}

#[napi]
impl Store {
    /// Resolves a name to the full ID of its object. A name is a full ID, a nickname, a path, or a unique prefix of an ID with at least
    /// 8 hexadecimal digits, tried in this order; the nickname of what another store wrote only where no object has the path. A version may
    /// follow (`NAME@12`, `NAME@-1`).
    ///
    /// Rejects with `UNKNOWN_NAME`, and with `AMBIGUOUS_NAME`, whose `candidates` are the first 8 matches.
    #[napi(
        ts_args_type = "name: string, options?: NameOptions",
        ts_return_type = "Promise<string>"
    )]
    pub fn find(&self, name: Given<String>, options: Maybe<NameOptions>) -> Promised<String> {
        self.with(move |store| {
            let options = options.or_default("options")?;
            let found = store.place(options.cwd)?.find(&store.core, &name.named("name")?)?;
            Ok(found.id.to_string())
        })
    }

    /// Resolves a handle of a session, such as `t17`, to the full ID of its object. A version and lines behind the handle (`f3@-1:5-9`)
    /// stay behind the ID.
    ///
    /// `session`: as in `recordedCall`. Rejects with `INVALID_ARGUMENT` if `handle` has another form, with `UNKNOWN_NAME` if the
    /// session gave no such handle, and as `recordedCall` for the session.
    #[napi(ts_args_type = "session: string, handle: string", ts_return_type = "Promise<string>")]
    pub fn find_handle(&self, session: Given<String>, handle: Given<String>) -> Promised<String> {
        self.with(move |Self { core: store, .. }| {
            let text = handle.named("handle")?;
            let form = || Error::argument("handle", format!("is `{text}`; it must be like `t17`"));
            let read = |text: &str| {
                Reading::all(text).into_iter().find_map(|reading| {
                    Some((reading.name.handle()?, reading.name.version, reading.lines))
                })
            };
            // The line of a fold begins with the calls that it stands for: `[t31-t44] s2 · …`.
            let found = read(&text).or_else(|| text.split_whitespace().find_map(read));
            let (handle, version, lines) = found.ok_or_else(form)?;
            let session = live::find_session(store, &session.named("session")?)?;
            let id = live::find_handle(store, &session, handle)?;
            let lines = lines.map_or_else(String::new, |lines| format!(":{lines}"));
            Ok(format!("{id}{version}{lines}"))
        })
    }

    /// Gives an object a nickname, and resolves to the object's full ID. A nickname has 1 to 64 characters, no white space, none of
    /// `@ / \ [ ] :`, does not look like a handle or an ID, and is not `latest`.
    ///
    /// Rejects with `INVALID_NICKNAME` if it has another form or belongs to another object, and as `find`.
    #[napi(
        ts_args_type = "name: string, nickname: string, options?: NameOptions",
        ts_return_type = "Promise<string>"
    )]
    pub fn name(
        &self,
        name: Given<String>,
        nickname: Given<String>,
        options: Maybe<NameOptions>,
    ) -> Promised<String> {
        self.with(move |store| {
            let options = options.or_default("options")?;
            let nickname = Nickname::given(&nickname.named("nickname")?)?;
            let found = store.place(options.cwd)?.find(&store.core, &name.named("name")?)?;
            let mut transaction = store.core.begin();
            transaction.name(nickname, Some(found.id.clone()));
            transaction.commit()?;
            Ok(found.id.to_string())
        })
    }

    /// Removes a nickname, and resolves to the full ID of the object that had it.
    ///
    /// Rejects with `UNKNOWN_NAME` if no object has it.
    #[napi(ts_args_type = "nickname: string", ts_return_type = "Promise<string>")]
    pub fn unname(&self, nickname: Given<String>) -> Promised<String> {
        self.with(move |Self { core: store, .. }| {
            Ok(store.unname(&nickname.named("nickname")?)?.to_string())
        })
    }
}
