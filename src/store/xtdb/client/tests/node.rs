//! A real node: the development server of `xtdb/`, started as people start it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::*;

/// A node in memory; ends with the test.
struct Node {
    process: Child,
    url: String,
}

impl Node {
    /// `None` where it cannot be started, which a line says; with `PALIMPSEST_REQUIRE_ALL_TESTS` set that is a failure.
    fn start() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().unwrap().keep();
        let mut process = Command::new("node")
            .current_dir(root)
            .args(["scripts/xtdb.js", "--config", "memory", "--port", "0", "--data"])
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split(' ').find(|word| word.starts_with("http")).map(str::to_owned);
        if url.is_none() {
            let _ = process.wait();
            assert!(std::env::var_os("PALIMPSEST_REQUIRE_ALL_TESTS").is_none(), "no node of XTDB");
            return None;
        }
        Some(Self { process, url: url? })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The server ends with its standard input, which is this process's.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
