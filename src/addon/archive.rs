//! `exportArchive` and `importArchive` of the class `Store`.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::store::Store;
use crate::object::ObjectId;
use crate::store::{ExportOptions, Exported, ImportOptions, Imported, LeftOut, Scope};

/// What an archive is to hold, and where it goes.
#[napi(object)]
pub struct ExportArchiveOptions {
    /// The file; what stands there is replaced once the archive is whole. `-` is standard output.
    pub path: String,
    /// ID of a session: it with all that it refers to, and with what was before it where it is a fork.
    pub session: Option<String>,
    /// ID of an object: it with its history. Default, without `session` too: everything.
    pub object: Option<String>,
    /// Whether what looks like a secret is replaced by `[redacted:RULE]`. Default: false.
    pub redact: Option<bool>,
    /// Whether the archive is compressed by zstd. Default: whether the path ends in `.zst`.
    pub compress: Option<bool>,
}

/// What was written to an archive.
#[napi(object)]
pub struct ExportedArchive {
    /// Objects.
    pub objects: i64,
    /// Versions.
    pub versions: i64,
    /// Distinct contents.
    pub contents: i64,
    /// Items of chats and sessions.
    pub items: i64,
    /// Nicknames.
    pub nicknames: i64,
    /// Lines.
    pub lines: i64,
    /// Bytes of the lines.
    pub bytes: i64,
    /// Bytes written: fewer where they are compressed.
    pub written_bytes: i64,
    /// How often something was replaced, by rule.
    #[napi(ts_type = "Record<string, number>")]
    pub redactions: HashMap<String, i64>,
}

/// Where an archive is.
#[napi(object)]
pub struct ImportArchiveOptions {
    /// The file, plain or compressed by zstd. `-` is standard input.
    pub path: String,
    /// No line of it may be longer, in bytes. Default: 268,435,456 (256 MiB).
    pub max_line_bytes: Option<u32>,
}

/// What became of an archive.
#[napi(object)]
pub struct ImportedArchive {
    /// ID of the store that wrote the archive.
    pub store_id: String,
    /// Bytes read, uncompressed.
    pub bytes: i64,
    /// Versions that the store did not have.
    pub versions: i64,
    /// Objects of these.
    pub objects: i64,
    /// Versions that the store had.
    pub present: i64,
    /// Versions that were put again: to be the latest, or to stand beside another.
    pub put_again: i64,
    /// Nicknames given.
    pub nicknames: i64,
    /// Everything that was left out, and why.
    pub left_out: Vec<LeftOutOfImport>,
    /// Lines of kinds that this program does not know, by kind; they were passed over.
    #[napi(ts_type = "Record<string, number>")]
    pub unknown_lines: HashMap<String, i64>,
}

/// Something of an archive that was not taken.
#[napi(object)]
pub struct LeftOutOfImport {
    /// ID of the object.
    pub id: String,
    /// Why.
    #[napi(
        ts_type = "\"forgotten\" | \"other_object\" | \"unknown_type\" | \"redacted_here\" | \"without_items\" | \"nickname_taken\" | \"nickname_without_object\""
    )]
    pub reason: String,
    /// The reason in words.
    pub detail: String,
    /// Versions concerned; 0 for a nickname.
    pub versions: i64,
}

#[napi]
impl Store {
    /// Writes an archive: everything, a session, or an object. `docs/archive-format.md` describes it.
    ///
    /// Rejects with `INVALID_ARGUMENT`, `NOT_FOUND`, `FILE`, `HASH_MISMATCH` or `STORE_CORRUPT` where something stored is
    /// damaged, `CLOSED`.
    #[napi(
        ts_args_type = "options: ExportArchiveOptions",
        ts_return_type = "Promise<ExportedArchive>"
    )]
    pub fn export_archive(
        &self,
        options: Given<ExportArchiveOptions>,
    ) -> AsyncTask<Blocking<ExportedArchive>> {
        let core = self.core.clone();
        blocking(move || {
            let options = options.named("options")?;
            let path = PathBuf::from(&options.path);
            let options = ExportOptions {
                scope: Scope::of(
                    options.session.map(ObjectId::new),
                    options.object.map(ObjectId::new),
                )?,
                redact: options.redact.unwrap_or_default(),
                compress: options.compress.unwrap_or_else(|| ExportOptions::compresses(&path)),
            };
            core.export_archive_file(&path, &options, &mut |_| Ok(())).map(ExportedArchive::from)
        })
    }

    /// Takes the versions of an archive that the store does not have. All of it is checked first: where a line is wrong
    /// nothing is written. What the store has stays as it is; an import that was interrupted is run again.
    ///
    /// Rejects with `MALFORMED_ARCHIVE`, `INVALID_ARGUMENT`, `FILE`, `CONFLICT`, `NO_SPACE`, `CLOSED`.
    #[napi(
        ts_args_type = "options: ImportArchiveOptions",
        ts_return_type = "Promise<ImportedArchive>"
    )]
    pub fn import_archive(
        &self,
        options: Given<ImportArchiveOptions>,
    ) -> AsyncTask<Blocking<ImportedArchive>> {
        let core = self.core.clone();
        blocking(move || {
            let options = options.named("options")?;
            let path = PathBuf::from(&options.path);
            let default = ImportOptions::default();
            let limit = options.max_line_bytes.map(|bytes| bytes as usize);
            let options = ImportOptions { max_line_bytes: limit.unwrap_or(default.max_line_bytes) };
            core.import_archive_file(&path, &options, &mut |_| Ok(())).map(ImportedArchive::from)
        })
    }
}

impl From<Exported> for ExportedArchive {
    fn from(exported: Exported) -> Self {
        Self {
            objects: number(exported.objects),
            versions: number(exported.versions),
            contents: number(exported.contents),
            items: number(exported.items),
            nicknames: number(exported.nicknames),
            lines: number(exported.lines),
            bytes: number(exported.bytes),
            written_bytes: number(exported.written_bytes),
            redactions: numbers(exported.redactions),
        }
    }
}

impl From<Imported> for ImportedArchive {
    fn from(imported: Imported) -> Self {
        Self {
            store_id: imported.store_id,
            bytes: number(imported.bytes),
            versions: number(imported.versions),
            objects: number(imported.objects),
            present: number(imported.present),
            put_again: number(imported.put_again),
            nicknames: number(imported.nicknames),
            left_out: imported.left_out.into_iter().map(LeftOutOfImport::from).collect(),
            unknown_lines: numbers(imported.unknown_lines),
        }
    }
}

impl From<LeftOut> for LeftOutOfImport {
    fn from(left_out: LeftOut) -> Self {
        Self {
            id: left_out.id.as_str().to_owned(),
            reason: left_out.reason.to_owned(),
            detail: left_out.detail,
            versions: number(left_out.versions),
        }
    }
}

/// JavaScript's numbers have no `u64`.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn numbers<K: Into<String>>(counts: BTreeMap<K, u64>) -> HashMap<String, i64> {
    counts.into_iter().map(|(key, count)| (key.into(), number(count))).collect()
}
