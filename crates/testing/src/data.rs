//! Where recorded data is, which is not a part of the project: in `$PALIMPSEST_DATA`, else in `../shared/data`.

use std::path::{Path, PathBuf};

use crate::skip::skip;

/// The file or folder of this name. `None` where it is absent: the test returns then, and a line says that it is skipped;
/// with `PALIMPSEST_REQUIRE_ALL_TESTS` set it fails here.
pub fn find(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("PALIMPSEST_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?.join("shared/data");
    let places = [given, Some(beside)].into_iter().flatten();
    let found = places.map(|data| data.join(name)).find(|place| place.exists());
    if found.is_none() {
        skip(&format!("no {name} in $PALIMPSEST_DATA or ../shared/data"));
    }
    found
}
