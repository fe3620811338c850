//! Archives in files. Must not know their contents.

use std::io::{BufReader, BufWriter};
use std::path::Path;

use super::{ExportOptions, Exported, ImportOptions, Imported, OnProgress};
use crate::Store;
use base::error::{Error, Result};
use files::{Output, private};

/// Means standard output or input instead of a path.
const STANDARD: &str = "-";

impl Store {
    /// Writes an archive to a file that only its user may read. An existing file, or a link, is
    /// replaced once the archive is complete and on disk. `-` is standard output.
    ///
    /// # Errors
    /// As [`Self::export_archive`]; `NOT_PRIVATE` for a file of another user; `FILE` also if the
    /// name belongs to something other than a file.
    pub fn export_archive_file(
        &self,
        path: &Path,
        options: &ExportOptions,
        progress: OnProgress<'_>,
    ) -> Result<Exported> {
        if path.as_os_str() == STANDARD {
            return self.export_archive(std::io::stdout().lock(), path, options, progress);
        }
        let mut output = Output::create(path)?;
        let exported =
            self.export_archive(BufWriter::new(output.file()), path, options, progress)?;
        output.finish()?;
        Ok(exported)
    }

    /// Reads an archive from a file; `-` is standard input.
    ///
    /// # Errors
    /// As [`Self::import_archive`].
    pub fn import_archive_file(
        &self,
        path: &Path,
        options: &ImportOptions,
        progress: OnProgress<'_>,
    ) -> Result<Imported> {
        let fail = |source| Error::File { act: "read", path: path.to_owned(), source };
        if path.as_os_str() == STANDARD {
            let input = Box::new(std::io::stdin().lock());
            return self.import_archive(input, path, options, progress);
        }
        let input = Box::new(BufReader::new(private::open_regular(path).map_err(fail)?));
        self.import_archive(input, path, options, progress)
    }
}
