//! Archives: the methods `exportArchive` and `importArchive` of `Maintenance`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi_derive::napi;

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised, blocking};
use super::maintenance::Maintenance;
use super::progress::{Listener, told};
use base::object::ObjectId;
use redact;
use store::{ArchiveScope, ExportOptions, ImportOptions};

/// Writes a file that only its user may read, as `exportArchive` does: beside its place first, and then into it. What is there is
/// replaced, a link too, and what a link leads to stays as it is.
///
/// Rejects with `NOT_PRIVATE` for a file of another user, and with `FILE` if a FIFO, a folder or the like has the name.
#[napi(ts_args_type = "path: string, text: string", ts_return_type = "Promise<void>")]
pub fn write_private(path: Given<String>, text: Given<String>) -> Promised<()> {
    blocking(move || {
        files::write_output(Path::new(&path.named("path")?), text.named("text")?.as_bytes())
    })
}

/// Removes the temporary files and folders of this process: what is written and not complete yet, and where sessions are replayed. For a
/// process that ends at once, by a signal: after this it writes no more of them, and work that would does not come to an end.
#[napi(catch_unwind)]
pub fn remove_temporary() {
    std::mem::forget(files::remove_temporary());
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

/// A text in which what looks like a secret is replaced by `[redacted:RULE]`, as in an archive written with `redact`. For logs and
/// reports.
#[napi(ts_args_type = "text: string", ts_return_type = "Promise<string>")]
pub fn without_secrets(text: Given<String>) -> Promised<String> {
    blocking(move || {
        let text = text.named("text")?;
        Ok(redact::redact_text(&text).text.unwrap_or(text))
    })
}

/// A document, given as JSON, in whose strings what looks like a secret is replaced as by `withoutSecrets`. What was found once is
/// replaced wherever it stands: in names of members, in JSON inside of strings, and where it was cut. A member `diff` is a unified
/// difference.
#[napi(ts_args_type = "json: string", ts_return_type = "Promise<string>")]
pub fn document_without_secrets(json: Given<String>) -> Promised<String> {
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
        ts_args_type = "options: ExportArchiveOptions, onProgress?: (progress: StoreProgress) => void",
        ts_return_type = "Promise<ExportedArchive>"
    )]
    pub fn export_archive(
        &self,
        options: Given<ExportArchiveOptions>,
        on_progress: Maybe<Listener>,
    ) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| {
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
            core.export_archive_file(&path, &options, &mut told(on_progress)?)
        })
    }

    /// Copies the whole store into a file that only its user may read, as it is at one moment, and checks the copy before it is put in
    /// its place. Sessions may go on meanwhile. Put in the place of a store, it goes on from there.
    ///
    /// Rejects with `INVALID_ARGUMENT`, `NOT_PRIVATE`, `FILE`, `CLOSED`, and with `STORE_CORRUPT` if the store is damaged.
    #[napi(ts_args_type = "path: string", ts_return_type = "Promise<Backup>")]
    pub fn backup(&self, path: Given<String>) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| core.backup(Path::new(&path.named("path")?)))
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
        ts_args_type = "options: ImportArchiveOptions, onProgress?: (progress: StoreProgress) => void",
        ts_return_type = "Promise<ImportedArchive>"
    )]
    pub fn import_archive(
        &self,
        options: Given<ImportArchiveOptions>,
        on_progress: Maybe<Listener>,
    ) -> Promised<Answer> {
        self.answer(move |Self { core, settings }| {
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
            core.import_archive_file(&path, &options, &mut told(on_progress)?)
        })
    }
}
