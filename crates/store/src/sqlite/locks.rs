//! Locks on SQLite's files that belong to the open file and not to the process. No SQL.
//!
//! SQLite takes POSIX locks. A process loses its POSIX locks on a file as soon as anything in it
//! closes any descriptor of that file (sqlite.org/howtocorrupt.html, 2.2): another copy of SQLite,
//! or an extension that reads it. Then two processes write at once. Linux also has locks of open
//! files (fcntl(2), "Open file description locks"), which survive a foreign `close` and respect
//! POSIX locks of other processes. SQLite lets a program replace its system calls, so these locks
//! replace them here.

/// Gives SQLite these locks where the system supports them; otherwise SQLite keeps its own. Call it
/// before any file is opened.
pub fn install() {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    open_file::install();
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod open_file;
