//! Archives as files. Must not know what is in one.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use super::{ExportOptions, Exported, ImportOptions, Imported, OnProgress};
use crate::error::{Error, Result};
use crate::store::Store;

impl Store {
    /// Writes an archive to a file, for its user only. What stood there is replaced once the archive is whole and on disk; what
    /// is no file, such as a pipe, is written to.
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
        let path = &std::path::absolute(path).map_err(fail("create"))?;
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let output = File::options().write(true).open(path).map_err(fail("write"))?;
            return self.export_archive(BufWriter::new(output), path, options, progress);
        }
        let folder = path.parent().unwrap_or(path);
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(fail("create"))?;
        let output = BufWriter::new(file.as_file_mut());
        let exported = self.export_archive(output, path, options, progress)?;
        file.as_file().sync_all().map_err(fail("write"))?;
        file.persist(path).map_err(|error| fail("create")(error.error))?;
        Ok(exported)
    }

    /// Reads an archive from a file.
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
        let file = File::open(path).map_err(fail)?;
        self.import_archive(Box::new(BufReader::new(file)), path, options, progress)
    }
}
