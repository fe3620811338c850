//! Forgetting, garbage collection and statistics: methods of `Maintenance`.

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::maintenance::Maintenance;
use base::object::{ObjectId, ObjectType, Timestamp, TxId};

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

/// What was forgotten, or would be in a dry run.
#[napi(object)]
pub struct ForgetReport {
    /// Whether this was a dry run, which changes nothing.
    pub dry_run: bool,
    /// IDs of the forgotten objects.
    pub objects: Vec<String>,
    /// Their versions.
    pub versions: f64,
    /// Their items.
    pub items: f64,
    /// Their contents that no other object has.
    pub contents: f64,
    /// UTF-8 bytes of these contents and of items and fields.
    pub text_bytes: f64,
    /// IDs of files that only the session knew. Their texts and fields are removed too, but may be stored again when the files are read.
    pub emptied: Vec<String>,
    /// IDs of objects of the session that stay because other sessions know them.
    pub kept: Vec<String>,
    /// Objects in which lines are replaced by `[forgotten]`.
    pub rewritten: Vec<Holder>,
    /// Objects that still hold forgotten lines afterwards, those with most lines first.
    pub holders: Vec<Holder>,
    /// Distinct lines that are removed.
    pub lines: f64,
    /// Distinct lines that are kept because they are common.
    pub common_lines: f64,
    /// Sessions whose hosts still hold the text in files of their own.
    pub hosts: Vec<HostSession>,
    /// The garbage collected afterwards; absent in a dry run.
    pub collected: Option<Garbage>,
}

/// An object that holds forgotten lines.
#[napi(object)]
pub struct Holder {
    /// ID of the object.
    pub object: String,
    /// Its type.
    #[napi(js_name = "type")]
    pub kind: String,
    /// ID of the chat or session that it belongs to, if there is one.
    pub session: Option<String>,
    /// Versions with such lines in contents or fields.
    pub versions: f64,
    /// Items with such lines.
    pub items: f64,
    /// Distinct lines that it holds.
    pub lines: f64,
    /// Share of all forgotten lines that it holds, 0 to 1.
    pub share: f64,
}

/// A session as its host names it.
#[napi(object)]
pub struct HostSession {
    /// Host: `pi`, `openclaw`, ...
    pub harness: String,
    /// The host's own session ID.
    pub host_session: String,
}

/// What was dropped from a store's files, or would be in a dry run.
#[napi(object)]
pub struct Garbage {
    /// Contents that no version refers to.
    pub contents: f64,
    /// Their UTF-8 bytes.
    pub content_bytes: f64,
    /// Bytes of the file and its log before.
    pub bytes_before: f64,
    /// Bytes of both afterwards; in a dry run, an upper bound.
    pub bytes_after: f64,
    /// Whether dropped text stays in the files until the next `gc`, because a process is still reading an older state.
    pub waits_for_readers: bool,
}

/// Counts and sizes of a store.
#[napi(object)]
pub struct StoreStats {
    /// Objects by type.
    #[napi(ts_type = "Record<string, number>")]
    pub objects: std::collections::HashMap<String, f64>,
    /// How many of these objects were forgotten.
    pub forgotten: f64,
    /// Sessions.
    pub sessions: f64,
    /// Versions.
    pub versions: f64,
    /// Items, including those that are no longer in their lists.
    pub items: f64,
    /// Contents.
    pub contents: f64,
    /// UTF-8 bytes of contents, items and fields, before compression.
    pub plain_bytes: f64,
    /// Bytes of the file; 0 in memory.
    pub file_bytes: f64,
    /// Bytes of the write-ahead log.
    pub log_bytes: f64,
    /// Bytes of the file that are free.
    pub free_bytes: f64,
    /// Bytes by table and index, largest first.
    pub parts: Vec<StorePart>,
    /// Oldest transaction that wrote a version; absent on an empty store.
    pub oldest: Option<TransactionTime>,
    /// Newest transaction; absent on an empty store.
    pub newest: Option<TransactionTime>,
}

/// A table or index of a store's file.
#[napi(object)]
pub struct StorePart {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: f64,
}

/// A transaction and its time.
#[napi(object)]
pub struct TransactionTime {
    /// Number in this store.
    pub tx_id: f64,
    /// RFC 3339.
    pub time: String,
}

#[napi]
impl Maintenance {
    /// Forgets the object with the ID `target`: removes its contents, fields, items and nicknames, and its text in call records and
    /// chats that refer to it. It is never stored again. Without `dryRun: false`, only reports what would happen.
    ///
    /// Of a session or a chat, the whole session is forgotten, with chat, system prompt and tool calls. Files that only this session
    /// knew lose their texts, but may be stored again.
    ///
    /// Rejects with `NOT_FOUND`, `NO_SPACE`, and with `CONFLICT` if other processes write all the time.
    #[napi(
        ts_args_type = "target: string, options?: ForgetOptions | undefined | null",
        ts_return_type = "Promise<ForgetReport>"
    )]
    pub fn forget(
        &self,
        target: Given<String>,
        options: Given<Option<ForgetOptions>>,
    ) -> AsyncTask<Blocking<ForgetReport>> {
        let core = self.core.clone();
        blocking(move || {
            let target = ObjectId::new(target.named("target")?);
            let options = options.named("options")?.unwrap_or_default();
            let default = store::ForgetOptions::default();
            let options = store::ForgetOptions {
                dry_run: options.dry_run.unwrap_or(default.dry_run),
                everywhere: options.everywhere.unwrap_or(default.everywhere),
            };
            core.forget(&target, options).map(ForgetReport::from)
        })
    }

    /// Drops contents that nothing refers to, shrinks the file and empties its log. Every version of every object stays. Without
    /// `dryRun: false`, only reports what would be dropped.
    ///
    /// Needs about as much free space as the file takes. Rejects with `NO_SPACE`.
    #[napi(
        ts_args_type = "options?: GcOptions | undefined | null",
        ts_return_type = "Promise<Garbage>"
    )]
    pub fn gc(&self, options: Given<Option<GcOptions>>) -> AsyncTask<Blocking<Garbage>> {
        let core = self.core.clone();
        blocking(move || {
            let options = options.named("options")?.unwrap_or_default();
            core.gc(options.dry_run.unwrap_or(true)).map(Garbage::from)
        })
    }

    /// Counts objects and measures the file. Reads every page of it.
    #[napi(ts_return_type = "Promise<StoreStats>")]
    pub fn stats(&self) -> AsyncTask<Blocking<StoreStats>> {
        let core = self.core.clone();
        blocking(move || core.stats().map(StoreStats::from))
    }
}

impl From<store::ForgetReport> for ForgetReport {
    fn from(report: store::ForgetReport) -> Self {
        let ids = |ids: Vec<ObjectId>| ids.iter().map(ToString::to_string).collect();
        let holders = |holders: Vec<store::Holder>| holders.into_iter().map(Holder::from).collect();
        let host = |host: store::HostSession| HostSession {
            harness: host.harness,
            host_session: host.host_session,
        };
        Self {
            dry_run: report.dry_run,
            objects: ids(report.objects),
            versions: number(report.versions),
            items: number(report.items),
            contents: number(report.contents),
            text_bytes: number(report.text_bytes),
            emptied: ids(report.emptied),
            kept: ids(report.kept),
            rewritten: holders(report.rewritten),
            holders: holders(report.holders),
            lines: number(report.lines),
            common_lines: number(report.common_lines),
            hosts: report.hosts.into_iter().map(host).collect(),
            collected: report.collected.map(Garbage::from),
        }
    }
}

impl From<store::Holder> for Holder {
    fn from(holder: store::Holder) -> Self {
        Self {
            object: holder.object.to_string(),
            kind: holder.kind.as_str().to_owned(),
            session: holder.session.map(|id| id.to_string()),
            versions: number(holder.versions),
            items: number(holder.items),
            lines: number(holder.lines),
            share: holder.share,
        }
    }
}

impl From<store::Garbage> for Garbage {
    fn from(garbage: store::Garbage) -> Self {
        Self {
            contents: number(garbage.contents),
            content_bytes: number(garbage.content_bytes),
            bytes_before: number(garbage.bytes_before),
            bytes_after: number(garbage.bytes_after),
            waits_for_readers: garbage.waits_for_readers,
        }
    }
}

impl From<store::Stats> for StoreStats {
    fn from(stats: store::Stats) -> Self {
        let store::Stats { size, oldest, newest } = stats;
        let count = |(kind, count): (&ObjectType, &u64)| (kind.as_str().to_owned(), number(*count));
        let part =
            |part: store::StorePart| StorePart { name: part.name, bytes: number(part.bytes) };
        #[expect(clippy::cast_precision_loss, reason = "no store has 2^53 transactions")]
        let time = |(tx_id, time): (TxId, Timestamp)| TransactionTime {
            tx_id: tx_id.0 as f64,
            time: time.to_string(),
        };
        let sessions = size.objects.get(&ObjectType::Session);
        Self {
            sessions: number(sessions.copied().unwrap_or_default()),
            objects: size.objects.iter().map(count).collect(),
            forgotten: number(size.forgotten),
            versions: number(size.versions),
            items: number(size.items),
            contents: number(size.contents),
            plain_bytes: number(size.plain_bytes),
            file_bytes: number(size.file_bytes),
            log_bytes: number(size.log_bytes),
            free_bytes: number(size.free_bytes),
            parts: size.parts.into_iter().map(part).collect(),
            oldest: oldest.map(time),
            newest: newest.map(time),
        }
    }
}

/// A count as a JavaScript number, exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "no count comes near 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}
