//! Where test data that is not part of the project is: in `$PALIMPSEST_DATA`, else in `../shared/data`.

use std::path::{Path, PathBuf};

/// The file or folder of this name. `None` where there is none: the test is to be skipped, and this says so.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("PALIMPSEST_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.join("shared/data");
    let places = [given, Some(beside)].into_iter().flatten();
    let found = places.map(|data| data.join(name)).find(|place| place.exists());
    if found.is_none() {
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("skipped: no {name} in $PALIMPSEST_DATA or ../shared/data");
        }
    }
    found
}
