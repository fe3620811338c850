//! Recorded sessions of several agents, which are no part of the project: a dozen shorter ones that are the same in every run, all in
//! a long run.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

/// Most bytes of a recording that is played where no long run is asked for.
const SHORT: u64 = 130_000;

/// The recordings in these folders, by name. `smallest`: in any run so many, the smallest first.
pub(crate) fn files(folders: &[&str], smallest: Option<usize>) -> Option<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(testing::data::find(folder)?).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.retain(|file| file.to_string_lossy().ends_with(".jsonl.gz"));
    files.sort();
    assert!(!files.is_empty(), "folders without recordings");
    let bytes = |file: &PathBuf| file.metadata().unwrap().len();
    if let Some(count) = smallest {
        files.sort_by_key(bytes);
        files.truncate(count);
    } else if !testing::cases::is_long() {
        files.retain(|file| bytes(file) < SHORT);
        files = files.into_iter().step_by(2).collect();
    }
    Some(files)
}

pub(crate) fn read(file: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    text
}
