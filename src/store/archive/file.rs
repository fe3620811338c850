//! Archives in files. Must not know their contents.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use super::{ExportOptions, Exported, ImportOptions, Imported, OnProgress};
use crate::error::{Error, Result};
use crate::store::Store;

/// Stands for standard output or input instead of a path.
const STANDARD: &str = "-";

impl Store {
    /// Writes an archive to a file that only its user may read. An existing file, or a link to one, is replaced once the archive is
    /// complete and on disk; anything else, such as a pipe, is written to directly. `-` is standard output.
    ///
    /// # Errors
    /// As [`Self::export_archive`].
    pub fn export_archive_file(
        &self,
        path: &Path,
        options: &ExportOptions,
        progress: OnProgress<'_>,
    ) -> Result<Exported> {
        let fail =
            |act: &'static str| move |source| Error::File { act, path: path.to_owned(), source };
        if path.as_os_str() == STANDARD {
            return self.export_archive(std::io::stdout().lock(), path, options, progress);
        }
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let output = File::options().write(true).truncate(true).open(path);
            let output = BufWriter::new(output.map_err(fail("write"))?);
            return self.export_archive(output, path, options, progress);
        }
        let whole = std::path::absolute(path).map_err(fail("create"))?;
        let folder = whole.parent().unwrap_or(&whole);
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(fail("create"))?;
        let output = BufWriter::new(file.as_file_mut());
        let exported = self.export_archive(output, path, options, progress)?;
        file.as_file().sync_all().map_err(fail("write"))?;
        file.persist(&whole).map_err(|error| fail("create")(error.error))?;
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
        let input = Box::new(BufReader::new(File::open(path).map_err(fail)?));
        self.import_archive(input, path, options, progress)
    }
}
