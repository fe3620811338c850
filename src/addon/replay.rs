//! Replays recorded sessions: `replayFile`, `replayReport`, `Store.replaySession`, and the names of
//! price tables.

use std::path::{Path, PathBuf};

use napi_derive::napi;
use serde_json::Value;

use super::argument::{Given, Json, Maybe};
use super::blocking::{Answer, OnWorker, Promised, answering};
use super::settings::settings_from;
use super::store::Store;
use base::error::{Error, Result};
use config::{Layout, Prices};
use context::tokens::Counter;
use live::PromptTokens;
use replay::measure::{FIXED_TOKENS, OVERHEAD_TOKENS};
use replay::options::{Replaying, Sender};
use replay::recorded::Follows;
use replay::report::{BillReport, FileReport};
use replay::run::replay_recorded;
use replay::transcript::Transcript;
use replay::transcript::find::{FoundSessions, find};

/// How to replay transcripts.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct ReplayOptions {
    /// Layout of the requests. `plain` sends them as the host alone would; `masking`, `clearing` and `pruning` as a host that makes them
    /// smaller by a rule of its own (docs/policy.md, *The curve*). Default: `log`.
    #[napi(ts_type = "\"log\" | \"pools\" | \"plain\" | \"masking\" | \"clearing\" | \"pruning\"")]
    pub layout: Option<String>,
    /// Name of the price table. Default: `anthropic`.
    pub prices: Option<String>,
    /// Tokens of the model's window, for both sides. Default: no limit.
    pub window: Option<i64>,
    /// How to count tokens: a quarter of the characters, or by the bundled tokenizer. Default: `characters`.
    #[napi(ts_type = "\"characters\" | \"bundled\"")]
    pub tokens: Option<String>,
    /// Tokens of system prompt and tools, those of `overheadTokens` among them. Default: of a stored session what its calls had on average,
    /// otherwise 4,000 and `overheadTokens`.
    pub prompt_tokens: Option<i64>,
    /// Tokens that the extension adds to system prompt and tools. Default: of a stored session what its calls had on average, otherwise
    /// what this version adds.
    pub overhead_tokens: Option<i64>,
    /// Whether prices, window, and the sizes of system prompt, tools and thinking are as the transcript records them, where no other option
    /// says them. Default: false.
    pub recorded: Option<bool>,
    /// Settings, complete or in part; their `layout` and `prices` are ignored. Default: the default settings.
    #[napi(ts_type = "Partial<Settings>")]
    pub settings: Option<Json>,
    /// Whether to tell what perfect foresight would cost under the same rules, as `oracle`; only with the layout `log`. Default: false.
    pub oracle: Option<bool>,
    /// Name of the session in the report, for `dump` and for `tree`. Default: that of the file.
    pub name: Option<String>,
    /// Absolute path of a folder to write the requests to, which is created if it is missing. Default: they are not written.
    pub dump: Option<String>,
    /// Absolute path of a folder with snapshots of the working folder, `NAME/call-N` and `NAME/result-ID`. Default: files are what
    /// the transcript shows of them.
    pub tree: Option<String>,
}

/// Finds the sessions at paths: files as they are, each session of a database of OpenCode or OpenClaw, and in folders all that are sessions.
/// `path` of an answer is what `replayFile` and `learnHazards` take, `FILE#SESSION` for a session of a database.
///
/// `others`: whether to list as well, with their `problem`, files of folders that have names of sessions and are none. Default: false.
///
/// Rejects with `FILE` if a folder or a database cannot be read.
#[napi(
    ts_args_type = "paths: string[], others?: boolean",
    ts_return_type = "Promise<FoundSession[]>"
)]
pub fn find_sessions(paths: Given<Vec<String>>, others: Maybe<bool>) -> Promised<Answer> {
    answering(move || {
        let others = others.named("others")?.unwrap_or_default();
        let mut found = Vec::new();
        for path in paths.named("paths")? {
            let FoundSessions { sessions, passed_over } = find(Path::new(&path))?;
            found.extend(sessions);
            found.extend(passed_over.into_iter().filter(|_| others));
        }
        Ok(found)
    })
}

/// Plays a transcript through a session as in live use, and reports what its requests would have cost, beside the plain host's.
/// Stores nothing and reads no file but the transcript and the snapshots in `tree`. The transcript's files are laid in a folder for
/// temporary files while it runs; no path of the transcript is opened.
///
/// Rejects with `INVALID_ARGUMENT`, with `MALFORMED_TRANSCRIPT` if the file is not a session file of a known agent, and with `FILE` if it
/// cannot be read or the dump cannot be written.
#[napi(
    ts_args_type = "path: string, options?: ReplayOptions",
    ts_return_type = "Promise<ReplayedFile>"
)]
pub fn replay_file(path: Given<String>, options: Maybe<ReplayOptions>) -> Promised<Answer> {
    answering(move || {
        let path = path.named("path")?;
        let options = options.or_default("options")?;
        replayed(options, None, || Transcript::read(Path::new(&path)))
    })
}

#[napi]
impl Store {
    /// Plays the chat of a stored session again, along its branch, as `replayFile` plays a transcript. What the store does not hold of it
    /// is a line that says so. Stores nothing.
    ///
    /// `session`: as in `findSession`. Rejects as that, and with `INVALID_ARGUMENT`.
    #[napi(
        ts_args_type = "session: string, options?: ReplayOptions",
        ts_return_type = "Promise<ReplayedFile>"
    )]
    pub fn replay_session(
        &self,
        session: Given<String>,
        options: Maybe<ReplayOptions>,
    ) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let session = live::find_session(store, &session.named("session")?)?;
            let options = options.or_default("options")?;
            let chat = live::stored_chat(store, &session)?;
            replayed(options, chat.prompt, || {
                Ok(Transcript::of_messages(session.as_str(), &chat.cwd, &chat.messages))
            })
        })
    }
}

/// `known`: as of [`replaying`].
fn replayed(
    options: ReplayOptions,
    known: Option<PromptTokens>,
    read: impl FnOnce() -> Result<Transcript>,
) -> Result<FileReport> {
    let oracle = options.oracle == Some(true);
    let is_recorded = options.recorded == Some(true);
    let follows = Follows {
        prices: is_recorded && options.prices.is_none(),
        window: is_recorded && options.window.is_none(),
        sizes: is_recorded && options.prompt_tokens.is_none(),
    };
    let name = options.name.clone();
    let (replaying, prices) = replaying(options, known)?;
    let mut transcript = read()?;
    transcript.name = name.unwrap_or(transcript.name);
    replay_recorded(&transcript, &replaying, follows, &prices, oracle)
}

/// Joins the results of transcripts that were replayed with these options into one report. Requests that were copied from one of them
/// into another count once. With `recorded`, `prices` and `window` are what all transcripts have in common, else `recorded` and null.
///
/// Rejects with `INVALID_ARGUMENT`.
#[napi(
    ts_args_type = "files: ReplayedFile[], options?: ReplayOptions",
    ts_return_type = "Promise<ReplayReport>"
)]
pub fn replay_report(files: Given<Vec<Json>>, options: Maybe<ReplayOptions>) -> Promised<Answer> {
    answering(move || {
        // Each is converted by itself: napi refuses a value of more than a million values.
        let files =
            files.named("files")?.into_iter().map(|Json(file)| serde_json::from_value(file));
        let files: Vec<FileReport> = files
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| Error::argument("files", format!("are not reports: {error}")))?;
        let options = options.or_default("options")?;
        let is_recorded = options.recorded == Some(true);
        let (own_prices, own_window) = (options.prices.is_none(), options.window.is_none());
        let (replaying, prices) = replaying(options, None)?;
        let mut report = BillReport::new(files, &replaying, prices);
        if is_recorded {
            report.follow(own_prices, own_window);
        }
        Ok(report)
    })
}

/// The names of the price tables that `prices` of `ReplayOptions` and of the settings may be.
#[napi]
pub fn price_presets() -> Vec<String> {
    Prices::presets().map(str::to_owned).collect()
}

/// Returns the name of the price table, too. `known`: system prompt and tools, used where the
/// options say nothing.
fn replaying(options: ReplayOptions, known: Option<PromptTokens>) -> Result<(Replaying, String)> {
    let prompt = prompt_tokens(&options, known)?;
    let name = options.prices.unwrap_or_else(|| "anthropic".to_owned());
    let prices = Prices::preset(&name).ok_or_else(|| {
        let known: Vec<&str> = Prices::presets().collect();
        Error::argument("prices", format!("is `{name}`; it must be one of {}", known.join(", ")))
    })?;
    let window_tokens = tokens("window", options.window)?;
    if window_tokens == Some(0) {
        return Err(Error::argument("window", "is `0`; it must be a number of tokens above it"));
    }
    let replaying = Replaying {
        sender: options.layout.map_or(Ok(Sender::Ours(Layout::Log)), sender)?,
        prices,
        window_tokens,
        counter: options.tokens.map_or(Ok(Counter::Characters), |name| {
            named("tokens", name, "`characters` or `bundled`")
        })?,
        host_tokens: prompt.all - prompt.ours,
        overhead_tokens: prompt.ours,
        settings: settings_from(options.settings)?,
        dump: options.dump.map(PathBuf::from),
        snapshots: options.tree.map(folder).transpose()?,
    };
    if options.oracle == Some(true) && replaying.sender != Sender::Ours(Layout::Log) {
        let problem = "needs the layout `log`: the others do not guess what is needed";
        return Err(Error::argument("oracle", problem));
    }
    Ok((replaying, name))
}

fn sender(name: String) -> Result<Sender> {
    if let Ok(rule) = name.parse() {
        return Ok(Sender::Host(rule));
    }
    let known = "`log`, `pools`, `plain`, `masking`, `clearing` or `pruning`";
    named("layout", name, known).map(Sender::Ours)
}

/// Tokens of system prompt and tools; the total is never below our part.
fn prompt_tokens(options: &ReplayOptions, known: Option<PromptTokens>) -> Result<PromptTokens> {
    let all = tokens("promptTokens", options.prompt_tokens)?;
    let ours = tokens("overheadTokens", options.overhead_tokens)?
        .unwrap_or_else(|| known.map_or(OVERHEAD_TOKENS, |known| known.ours));
    let host = known.map_or(FIXED_TOKENS, |known| known.all - known.ours);
    let all = all.unwrap_or(host.saturating_add(ours));
    if all < ours {
        let problem = format!("is `{all}`, fewer than the {ours} of `overheadTokens` among them");
        return Err(Error::argument("promptTokens", problem));
    }
    Ok(PromptTokens { all, ours })
}

fn folder(path: String) -> Result<PathBuf> {
    let folder = PathBuf::from(path);
    if folder.is_dir() { Ok(folder) } else { Err(Error::argument("tree", "is not a folder")) }
}

fn tokens(argument: &str, given: Option<i64>) -> Result<Option<u64>> {
    let tokens = given.map(u64::try_from).transpose();
    tokens.map_err(|_| Error::argument(argument, "must be a number of tokens"))
}

/// The variant with this name. `known`: all names, for the message.
fn named<T: serde::de::DeserializeOwned>(argument: &str, name: String, known: &str) -> Result<T> {
    let problem = format!("is `{name}`; it must be {known}");
    serde_json::from_value(Value::from(name)).map_err(|_| Error::argument(argument, problem))
}
