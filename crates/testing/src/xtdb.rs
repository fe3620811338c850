//! Real nodes of XTDB, for tests: the development server of `xtdb/`, started by Java itself. Nodes end with the test or, if that
//! is killed, with its process: they end when their standard input does. `scripts/lib/xtdb.js` starts them for scripts.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once, OnceLock};

use tempfile::TempDir;

use crate::http::{Connection, Request};
use crate::ports::ClaimedPort;
use crate::postgres::Cluster;
use crate::skip::skip;

/// Where a node keeps its data.
#[derive(Clone, Copy)]
pub enum NodeKind {
    /// RocksDB; each write is synced to disk.
    Rocks,
    /// In memory.
    Memory,
}

/// What a node is started with, besides its data.
#[derive(Default)]
pub struct Options {
    /// Requests must bring it.
    pub token: Option<&'static str>,
    /// Writes are refused.
    pub read_only: bool,
}

/// What a node needs as long as it lives: its temporary folder, and the PostgreSQL that it shares with another one.
type Kept = (Option<TempDir>, Option<Arc<Cluster>>);

/// A node that runs, or is killed and may be started again on the same data and port.
pub struct Node {
    process: Child,
    port: ClaimedPort,
    config: PathBuf,
    options: Options,
    folder: PathBuf,
    /// Dropped last, when the process has ended.
    _kept: Kept,
}

impl Node {
    /// `None` where there is no JDK or no Maven: the test returns then, and a line says that it is skipped.
    pub fn start(kind: NodeKind) -> Option<Self> {
        Self::start_with(kind, Options::default())
    }

    /// The same, with options.
    pub fn start_with(kind: NodeKind, options: Options) -> Option<Self> {
        ready()?;
        let name = match kind {
            NodeKind::Rocks => "standalone.edn",
            NodeKind::Memory => "memory.edn",
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        Some(Self::start_in(path, project().join(name), options, (Some(folder), None)))
    }

    /// Two nodes over one PostgreSQL, each with an index of its own.
    pub fn pair_over_postgres() -> Option<[Self; 2]> {
        ready()?;
        let cluster = Arc::new(Cluster::start()?);
        Some([(); 2].map(|()| {
            let folder = tempfile::tempdir().unwrap();
            let config = std::fs::read_to_string(project().join("postgres.edn")).unwrap();
            let file = folder.path().join("postgres.edn");
            let here = format!(":port {}", cluster.port.number);
            std::fs::write(&file, config.replacen(":port 5432", &here, 1)).unwrap();
            let path = folder.path().to_owned();
            let kept = (Some(folder), Some(cluster.clone()));
            Self::start_in(path, file, Options::default(), kept)
        }))
    }

    fn start_in(folder: PathBuf, config: PathBuf, options: Options, kept: Kept) -> Self {
        let port = ClaimedPort::new();
        let process = launch(&config, &options, &folder, port.number);
        Self { process, port, config, options, folder, _kept: kept }
    }

    /// `http://host:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// `host:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number)
    }

    /// The folder with its data.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Kills it (SIGKILL).
    pub fn kill9(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Stops it from running (SIGSTOP): connections stay open, and nothing answers.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets it run on.
    pub fn resume(&self) {
        self.signal("CONT");
    }

    /// Starts it again, on the same data and the same port. One that still runs is killed before.
    pub fn restart(&mut self) {
        self.kill9();
        self.process = launch(&self.config, &self.options, &self.folder, self.port.number);
    }

    /// A disk that is full, as the process sees it: none of its files grows beyond so many bytes, until it is started again.
    #[cfg(target_os = "linux")]
    pub fn fill_disk(&self, bytes: u64) {
        let mut limit = Command::new("prlimit");
        limit.args([format!("--pid={}", self.process.id()), format!("--fsize={bytes}:")]);
        assert!(limit.status().unwrap().success());
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.process.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// An empty database of a test's own. All of a test program lie in one node in memory, so that one takes milliseconds.
pub struct Database {
    name: String,
    node: &'static Node,
}

impl Database {
    /// `None` as for `Node::start`.
    pub fn new() -> Option<Self> {
        static NODE: OnceLock<Option<Node>> = OnceLock::new();
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let start = || {
            ready()?;
            // Nothing drops what is static, so that a temporary folder would stay.
            let folder = project().join("target/shared");
            std::fs::create_dir_all(&folder).unwrap();
            let config = project().join("memory.edn");
            Some(Node::start_in(folder, config, Options::default(), (None, None)))
        };
        let node = NODE.get_or_init(start).as_ref()?;
        let name = format!("test-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        Some(Self { name, node })
    }

    /// What stands before `/_xtdb/…`: `http://host:port/db/NAME`.
    pub fn url(&self) -> String {
        format!("{}{}", self.node.url(), self.path())
    }

    /// `host:port`.
    pub fn address(&self) -> String {
        self.node.address()
    }

    /// `/db/NAME`.
    pub fn path(&self) -> String {
        format!("/db/{}", self.name)
    }

    /// Keeps a copy of its log and documents, as of a server's folder, under a number.
    pub fn save(&self, copy: usize) {
        self.ask("POST", &format!("/copies/save/{copy}"));
    }

    /// Puts a copy back, as a server that is killed and started again on it: what was written since is gone.
    pub fn put_back(&self, copy: usize) {
        self.ask("POST", &format!("/copies/put-back/{copy}"));
    }

    /// Puts back an empty database, as a server that lost its folder.
    pub fn lose(&self) {
        self.ask("POST", "/copies/put-back/none");
    }

    fn ask(&self, method: &str, below: &str) {
        let path = format!("{}{below}", self.path());
        let request = Request { method, path: &path, headers: &[], body: None };
        let answer = Connection::open(&self.address()).unwrap().ask(&request).unwrap().unwrap();
        assert_eq!(answer.status(), 200, "{method} {path}");
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let end = Request { method: "DELETE", path: &self.path(), headers: &[], body: None };
        drop(Connection::open(&self.address()).and_then(|mut connection| connection.ask(&end)));
    }
}

/// The folder `xtdb/`.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtdb")
}

/// Starts Java, and waits until the server answers on the port.
fn launch(config: &Path, options: &Options, folder: &Path, port: u16) -> Child {
    let target = project().join("target");
    let jars = std::fs::read_to_string(target.join("classpath.txt")).unwrap();
    let own =
        [project().join("src"), target.join("classes")].map(|path| path.display().to_string());
    let mut java = Command::new("java");
    java.current_dir(folder)
        .arg(format!("@{}", project().join("jvm.options").display()))
        .arg(format!("-Dlogback.configurationFile={}", project().join("logback.xml").display()))
        .arg(format!("-Djava.io.tmpdir={}", folder.display()))
        .args(["-cp", &[&own.join(":"), jars.trim()].join(":")])
        .args(["clojure.main", "-m", "palimpsest.xtdb.server", "--until-stdin-closes"])
        .arg("--config")
        .arg(config)
        .args(["--port", &port.to_string()]);
    if let Some(token) = options.token {
        let file = folder.join("token");
        std::fs::write(&file, token).unwrap();
        java.arg("--token-file").arg(file);
    }
    if options.read_only {
        java.arg("--read-only");
    }
    let log = File::create(folder.join("log")).unwrap();
    let mut process =
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if !line.trim().ends_with(&format!(":{port}")) {
        drop(process.kill());
        drop(process.wait());
        panic!("XTDB does not start:\n{}", std::fs::read_to_string(folder.join("log")).unwrap());
    }
    process
}

/// Whether nodes can be started; looked at once. What is missing is made, by one process at a time.
fn ready() -> Option<()> {
    static READY: OnceLock<Result<(), String>> = OnceLock::new();
    static SAID: Once = Once::new();
    match READY.get_or_init(prepare) {
        Ok(()) => Some(()),
        Err(why) => {
            // Once for all tests; where nothing may be skipped it fails, each time.
            SAID.call_once_force(|_| skip(why));
            None
        }
    }
}

fn prepare() -> Result<(), String> {
    let java = Command::new("java").arg("-version").output().map_err(|_| "no JDK for XTDB")?;
    let said = String::from_utf8_lossy(&java.stderr).into_owned();
    let version = said.split("version \"").nth(1).and_then(|rest| rest.split(['.', '"']).next());
    if version.and_then(|version| version.parse::<u32>().ok()).is_none_or(|version| version < 17) {
        return Err("no JDK 17 or later for XTDB".into());
    }
    let target = project().join("target");
    std::fs::create_dir_all(&target).unwrap();
    let lock = File::create(target.join("lock")).unwrap();
    lock.lock().unwrap();
    if is_resolved(&target.join("classpath.txt")) {
        return Ok(());
    }
    let repository = format!("-Dmaven.repo.local={}", target.join("repository").display());
    let maven = Command::new("mvn")
        .args(["-B", "-q", "-f"])
        .arg(project())
        .args([&repository, "generate-resources"])
        .output()
        .map_err(|_| "no Maven for XTDB")?;
    let said = String::from_utf8_lossy(&maven.stdout).into_owned();
    if maven.status.success() { Ok(()) } else { Err(format!("Maven cannot fetch XTDB: {said}")) }
}

/// Whether the class path is that of `pom.xml`, and its jars are there.
fn is_resolved(classpath: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|found| found.modified());
    let (Ok(made), Ok(asked)) = (changed(classpath), changed(&project().join("pom.xml"))) else {
        return false;
    };
    let jars = std::fs::read_to_string(classpath).unwrap();
    made >= asked && jars.trim().split(':').all(|jar| Path::new(jar).exists())
}
