//! XTDB 1 over HTTP, written for its own server (1.24). Only the modules below this one speak HTTP.
//!
//! `client` asks the server and says in typed errors what is wrong; `edn` reads and writes the notation in which XTDB tells times to
//! the millisecond.

#[cfg_attr(not(test), expect(dead_code, reason = "the backend that uses it comes next"))]
mod client;
mod edn;
