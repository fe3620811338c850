//! Archives: the methods `exportArchive` and `importArchive` of `Maintenance`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::maintenance::Maintenance;
use base::object::ObjectId;
use redact;
use store::{ArchiveScope, ExportOptions, Exported, ImportOptions, Imported, LeftOut};

/// Writes a file that only its user may read, as `exportArchive` does: beside its place first, and then into it. What is there is
/// replaced, a link too, and what a link leads to stays as it is.
///
/// Rejects with `NOT_PRIVATE` for a file of another user, and with `FILE` if a FIFO, a folder or the like has the name.
#[napi(ts_args_type = "path: string, text: string", ts_return_type = "Promise<void>")]
pub fn write_private(path: Given<String>, text: Given<String>) -> AsyncTask<Blocking<()>> {
    blocking(move || {
        files::write_output(Path::new(&path.named("path")?), text.named("text")?.as_bytes())
    })
}

/// What to write into an archive, and where.
#[napi(object)]
pub struct ExportArchiveOptions {
    /// The file. An existing one is replaced once the archive is complete. `-` is standard output.
    pub path: String,
    /// ID of a session: writes the session, all objects that it refers to, and the parents of a fork.
    pub session: Option<String>,
    /// ID of an object: writes the object with its history. Without `object` and `session`, everything is written.
    pub object: Option<String>,
    /// Whether to replace what looks like a secret by `[redacted:RULE]`. Default: false.
    pub redact: Option<bool>,
    /// Whether to compress the archive with zstd. Default: true if the path ends in `.zst`.
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
    /// Bytes of the file, after compression.
    pub written_bytes: i64,
    /// Number of secrets that were replaced, by rule.
    #[napi(ts_type = "Record<string, number>")]
    pub redactions: HashMap<String, i64>,
}

/// Which archive to read.
#[napi(object)]
pub struct ImportArchiveOptions {
    /// The file, plain or compressed by zstd. `-` is standard input.
    pub path: String,
    /// Longest line to accept, in bytes. Default: 268,435,456 (256 MiB).
    pub max_line_bytes: Option<u32>,
    /// Whether to only report what would happen. Default: false.
    pub dry_run: Option<bool>,
}

/// The result of an import.
#[napi(object)]
pub struct ImportedArchive {
    /// Whether this is a dry run: then the rest is what would happen.
    pub dry_run: bool,
    /// ID of the store that wrote the archive.
    pub store_id: String,
    /// Bytes read, uncompressed.
    pub bytes: i64,
    /// Versions that the store did not have before.
    pub versions: i64,
    /// Objects with such versions.
    pub objects: i64,
    /// Versions that the store had already.
    pub present: i64,
    /// Versions that were written again, so that they are the latest, or stand beside another version.
    pub put_again: i64,
    /// Nicknames that were added.
    pub nicknames: i64,
    /// Versions of which the store had only what an earlier archive left, and which are whole now.
    pub restored: i64,
    /// Objects that the store had and whose latest version is another now, by ID.
    pub changed: Vec<ChangedLatest>,
    /// Sessions that went on here in another way than in the archive. The one here is as it was.
    pub parted: Vec<PartedSession>,
    /// Everything that was left out, and why.
    pub left_out: Vec<LeftOutOfImport>,
    /// Lines of kinds that this program does not know, which were skipped, by kind.
    #[napi(ts_type = "Record<string, number>")]
    pub unknown_lines: HashMap<String, i64>,
}

/// An object whose latest version is another than before an import.
#[napi(object)]
pub struct ChangedLatest {
    /// ID of the object.
    pub id: String,
    /// Its type.
    pub r#type: String,
    /// Path of a file; `null` for other objects.
    pub path: Option<String>,
    /// When the version that was the latest was first written, in milliseconds since 1970.
    pub before: i64,
    /// When the version that is the latest now was first written, in milliseconds since 1970.
    pub after: i64,
    /// ID of the store that wrote it first.
    pub store_id: String,
}

/// A session of an archive that is stored under an ID of its own.
#[napi(object)]
pub struct PartedSession {
    /// ID of the session, in the archive and here.
    pub id: String,
    /// ID under which the archive's is stored.
    pub stored_as: String,
}

/// Something in an archive that was not imported.
#[napi(object)]
pub struct LeftOutOfImport {
    /// ID of the object.
    pub id: String,
    /// The reason.
    #[napi(
        ts_type = "\"forgotten\" | \"other_object\" | \"unknown_type\" | \"redacted_here\" | \"without_items\" | \"excluded\" | \"parted\" | \"damaged\" | \"nickname_taken\" | \"nickname_mistakable\" | \"nickname_without_object\""
    )]
    pub reason: String,
    /// The reason in words.
    pub detail: String,
    /// Number of versions left out; 0 for a nickname.
    pub versions: i64,
}

/// A text in which what looks like a secret is replaced by `[redacted:RULE]`, as in an archive written with `redact`. For logs and
/// reports.
#[napi(ts_args_type = "text: string", ts_return_type = "Promise<string>")]
pub fn without_secrets(text: Given<String>) -> AsyncTask<Blocking<String>> {
    blocking(move || {
        let text = text.named("text")?;
        Ok(redact::redact_text(&text).text.unwrap_or(text))
    })
}

/// A document, given as JSON, in whose strings what looks like a secret is replaced as by `withoutSecrets`. What was found once is
/// replaced wherever it stands: in names of members, in JSON inside of strings, and where it was cut. A member `diff` is a unified
/// difference.
#[napi(ts_args_type = "json: string", ts_return_type = "Promise<string>")]
pub fn document_without_secrets(json: Given<String>) -> AsyncTask<Blocking<String>> {
    blocking(move || {
        let json = json.named("json")?;
        Ok(redact::redact_document(&json).unwrap_or(json))
    })
}

#[napi]
impl Maintenance {
    /// Writes an archive of the whole store, a session, or an object. `docs/archive-format.md` describes the format.
    ///
    /// Rejects with `INVALID_ARGUMENT`, `NOT_FOUND`, `FILE`, `CLOSED`, and with `HASH_MISMATCH` or `STORE_CORRUPT` if the store is
    /// damaged.
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
                scope: ArchiveScope::of(
                    options.session.map(ObjectId::new),
                    options.object.map(ObjectId::new),
                )?,
                redact: options.redact.unwrap_or_default(),
                compress: options.compress.unwrap_or_else(|| ExportOptions::compresses(&path)),
            };
            core.export_archive_file(&path, &options, &mut |_| Ok(())).map(ExportedArchive::from)
        })
    }

    /// Imports the versions of an archive that the store does not have. The whole archive is checked first; if a line is wrong,
    /// nothing is written. Versions that the store has are not changed. After an interruption, import the archive again.
    ///
    /// The latest version of an object is then the one that was first written last; `changed` lists those of which that is another
    /// than before. A session that went on here in another way stays as it is, and the archive's becomes one of its own. Text of
    /// files that the setting `exclude` names is left out, and so is what was forgotten here. A version from the future makes the
    /// archive invalid.
    ///
    /// Rejects with `MALFORMED_ARCHIVE`, `ARCHIVE_EXPANDS`, `INVALID_ARGUMENT`, `FILE`, `CONFLICT`, `NO_SPACE`, `CLOSED`.
    #[napi(
        ts_args_type = "options: ImportArchiveOptions",
        ts_return_type = "Promise<ImportedArchive>"
    )]
    pub fn import_archive(
        &self,
        options: Given<ImportArchiveOptions>,
    ) -> AsyncTask<Blocking<ImportedArchive>> {
        let core = self.core.clone();
        let settings = Arc::clone(&self.settings);
        blocking(move || {
            let options = options.named("options")?;
            let path = PathBuf::from(&options.path);
            let default = ImportOptions::default();
            let limit = options.max_line_bytes.map(|bytes| bytes as usize);
            let exclude = settings.excluded()?;
            let options = ImportOptions {
                max_line_bytes: limit.unwrap_or(default.max_line_bytes),
                dry_run: options.dry_run.unwrap_or_default(),
                is_excluded: Arc::new(move |path| exclude.excludes_name(Path::new(path))),
                is_own: false,
                keeps_files: true,
            };
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
            dry_run: imported.dry_run,
            store_id: imported.store_id,
            bytes: number(imported.bytes),
            versions: number(imported.versions),
            objects: number(imported.objects),
            present: number(imported.present),
            put_again: number(imported.put_again),
            nicknames: number(imported.nicknames),
            restored: number(imported.restored),
            changed: imported.changed.into_iter().map(ChangedLatest::from).collect(),
            parted: imported.parted.into_iter().map(PartedSession::from).collect(),
            left_out: imported.left_out.into_iter().map(LeftOutOfImport::from).collect(),
            unknown_lines: numbers(imported.unknown_lines),
        }
    }
}

impl From<store::ChangedLatest> for ChangedLatest {
    fn from(changed: store::ChangedLatest) -> Self {
        Self {
            id: changed.id.as_str().to_owned(),
            r#type: changed.kind.as_str().to_owned(),
            path: changed.path,
            before: changed.before.time.0,
            after: changed.after.time.0,
            store_id: changed.after.store_id,
        }
    }
}

impl From<store::PartedSession> for PartedSession {
    fn from(parted: store::PartedSession) -> Self {
        Self { id: parted.id.as_str().to_owned(), stored_as: parted.stored_as.as_str().to_owned() }
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

/// A count as a JavaScript number.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn numbers<K: Into<String>>(counts: BTreeMap<K, u64>) -> HashMap<String, i64> {
    counts.into_iter().map(|(key, count)| (key.into(), number(count))).collect()
}
