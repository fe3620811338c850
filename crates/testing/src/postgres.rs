//! A PostgreSQL of a test's own: a cluster in a temporary folder, on loopback. It ends with the test or, if that is killed, with its
//! process. PostgreSQL refuses root, so that there it runs as the user `postgres`.

#![expect(clippy::disallowed_methods, reason = "the deadline of a wait is real time")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ports::ClaimedPort;
use crate::skip::skip;

/// Makes a cluster with the database and user that `xtdb/postgres.edn` names, runs it, and ends it when standard input ends.
const SCRIPT: &str = r#"
set -e
"$BIN/initdb" -D "$DATA" -U xtdb -A trust --no-sync >"$DATA.log" 2>&1
echo 'create database xtdb' | "$BIN/postgres" --single -D "$DATA" postgres >>"$DATA.log" 2>&1
"$BIN/postgres" -D "$DATA" -p "$PORT" -c listen_addresses=127.0.0.1 -c unix_socket_directories= >>"$DATA.log" 2>&1 &
read -r end || true
kill -INT $!
wait
"#;

/// A cluster that runs.
pub struct Cluster {
    /// On loopback.
    pub port: ClaimedPort,
    script: Child,
    _folder: TempDir,
}

impl Cluster {
    /// `None` where there is no PostgreSQL: a line says that the test is skipped.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            skip("no PostgreSQL for XTDB");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = ClaimedPort::new();
        let mut script = as_other_user(folder.path());
        let script = script
            .args(["sh", "-c", SCRIPT])
            .env("BIN", &programs)
            .env("DATA", folder.path().join("cluster"))
            .env("PORT", port.number.to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let cluster = Self { port, script, _folder: folder };
        cluster.await_answer(&programs);
        Some(cluster)
    }

    fn await_answer(&self, programs: &Path) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let port = self.port.number.to_string();
        let answers = || {
            let mut ask = Command::new(programs.join("pg_isready"));
            ask.args(["-q", "-h", "127.0.0.1", "-p", &port]).status().unwrap().success()
        };
        while !answers() {
            assert!(Instant::now() < deadline, "PostgreSQL does not start");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        drop(self.script.wait());
    }
}

/// The folder with `initdb`: that of the newest version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.splice(0..0, std::env::split_paths(&path));
    folders.into_iter().rev().find(|folder| folder.join("initdb").exists())
}

/// The beginning of a command that runs as somebody whom PostgreSQL serves, who then owns the folder.
fn as_other_user(folder: &Path) -> Command {
    if id(&["-u"]) != Some(0) {
        return Command::new("env");
    }
    let (user, group) = (id(&["-u", "nobody"]).unwrap(), id(&["-g", "nobody"]).unwrap());
    std::os::unix::fs::chown(folder, Some(user), Some(group)).unwrap();
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={user}"), &format!("--regid={group}"), "--clear-groups"]);
    command
}

fn id(args: &[&str]) -> Option<u32> {
    let out = Command::new("id").args(args).output().ok()?;
    String::from_utf8(out.stdout).ok()?.trim().parse().ok()
}
