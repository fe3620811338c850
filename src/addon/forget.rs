//! Forgetting, garbage collection and statistics: methods of `Maintenance`.

use std::time::Duration;

use napi_derive::napi;

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised, present};
use super::maintenance::Maintenance;
use base::error::Error;
use base::object::{ObjectId, ObjectType, Timestamp, TxId};
use serde_json::{Value, json};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How to forget.
#[napi(object)]
#[derive(Default)]
pub struct ForgetOptions {
    /// Only report what would happen. Default: true.
    pub dry_run: Option<bool>,
    /// Remove the text also from objects and sessions that have nothing to do with it. Default: false.
    pub everywhere: Option<bool>,
}

/// How to collect garbage.
#[napi(object)]
#[derive(Default)]
pub struct GcOptions {
    /// Only report what would be dropped. Default: true.
    pub dry_run: Option<bool>,
    /// Also drop the sessions that were last written so many days ago, at least 1, as if they had never been stored, with their tool
    /// calls and the files that only they know. What has a nickname stays, and what sessions that stay refer to. Default: none.
    pub unused_days: Option<u32>,
    /// Whether a search finds the outputs of tool calls by their text, from now on. Without them the index is much smaller; names and
    /// arguments are found all the same. Default: as it is, at first `true`.
    pub search_outputs: Option<bool>,
}

#[napi]
impl Maintenance {
    /// Forgets the object with the ID `target`: removes its contents, fields, items and nicknames, and its text in call records and
    /// chats that refer to it. It is never stored again. Without `dryRun: false`, only reports what would happen.
    ///
    /// Of a session or a chat, the whole session is forgotten, with chat, system prompt and tool calls. Files that only this session
    /// knew lose their texts, but may be stored again.
    ///
    /// Others may write meanwhile: it works in turns of some milliseconds. If it is broken off, doing it again finishes it.
    ///
    /// Rejects with `NOT_FOUND`, `NO_SPACE`; with `NO_ANSWER` after a minute in which somebody read an older state, and so kept the log
    /// from starting over at 256 MB.
    #[napi(
        ts_args_type = "target: string, options?: ForgetOptions | undefined | null",
        ts_return_type = "Promise<ForgetReport>"
    )]
    pub fn forget(&self, target: Given<String>, options: Maybe<ForgetOptions>) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| {
            let target = ObjectId::new(target.named("target")?);
            let options = options.or_default("options")?;
            let default = store::ForgetOptions::default();
            let options = store::ForgetOptions {
                dry_run: options.dry_run.unwrap_or(default.dry_run),
                everywhere: options.everywhere.unwrap_or(default.everywhere),
            };
            core.forget(&target, options)
        })
    }

    /// Drops contents that nothing refers to, shrinks the file and empties its log. Every version of every object stays, but of sessions
    /// that `unusedDays` asks to drop. Without `dryRun: false`, only reports what would be dropped.
    ///
    /// Others may write meanwhile: it works in turns of some milliseconds. A file of an earlier version is written anew once, which
    /// needs as much space again. Rejects with `NO_SPACE`; with `NO_ANSWER` as `forget` does: doing it again goes on.
    #[napi(
        ts_args_type = "options?: GcOptions | undefined | null",
        ts_return_type = "Promise<Garbage>"
    )]
    pub fn gc(&self, options: Maybe<GcOptions>) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| {
            let GcOptions { dry_run, unused_days, search_outputs } =
                options.or_default("options")?;
            if unused_days == Some(0) {
                return Err(Error::argument("unusedDays", "must be at least 1"));
            }
            let unused_for = unused_days.map(|days| DAY * days);
            core.gc(store::GcOptions {
                dry_run: dry_run.unwrap_or(true),
                unused_for,
                search_outputs,
            })
        })
    }

    /// Counts objects and measures the file. Reads every page of it.
    #[napi(ts_return_type = "Promise<StoreStats>")]
    pub fn stats(&self) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| core.stats().map(|stats| store_stats(&stats)))
    }
}

fn store_stats(stats: &store::Stats) -> Value {
    let time =
        |(tx_id, time): (TxId, Timestamp)| json!({ "txId": tx_id, "time": time.to_string() });
    let mut answer = present(json!(stats.size));
    let sessions = stats.size.objects.get(&ObjectType::Session);
    answer["sessions"] = json!(sessions.copied().unwrap_or_default());
    for (name, end) in [("oldest", stats.oldest), ("newest", stats.newest)] {
        if let Some(end) = end {
            answer[name] = time(end);
        }
    }
    answer
}
