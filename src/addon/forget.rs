//! Forgetting, garbage collection and statistics: methods of `Maintenance`.

use napi_derive::napi;

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised, present};
use super::maintenance::Maintenance;
use base::object::{ObjectId, ObjectType, Timestamp, TxId};
use serde_json::{Value, json};

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
    /// Rejects with `NOT_FOUND`, `NO_SPACE`.
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

    /// Drops contents that nothing refers to, shrinks the file and empties its log. Every version of every object stays. Without
    /// `dryRun: false`, only reports what would be dropped.
    ///
    /// Others may write meanwhile: it works in turns of some milliseconds. A file of an earlier version is written anew once, which
    /// needs as much space again. Rejects with `NO_SPACE`.
    #[napi(
        ts_args_type = "options?: GcOptions | undefined | null",
        ts_return_type = "Promise<Garbage>"
    )]
    pub fn gc(&self, options: Maybe<GcOptions>) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| {
            let options = options.or_default("options")?;
            core.gc(options.dry_run.unwrap_or(true))
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
