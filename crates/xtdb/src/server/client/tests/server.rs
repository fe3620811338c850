//! A scripted server on loopback, request by request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long anything here lasts at most.
const LONGEST: Duration = Duration::from_secs(20);
/// How often it is looked whether the test is over.
const GLANCE: Duration = Duration::from_millis(20);

/// What the server does with one request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends bytes, and waits for the next request on the connection.
    Send(Vec<u8>),
    /// Sends bytes, then closes the connection.
    SendAndClose(Vec<u8>),
    /// Sends bytes one by one with a pause after each.
    Drip(Vec<u8>, Duration),
    /// Waits before it sends.
    Late(Duration, Vec<u8>),
    /// Sends bytes, then others again and again, so often, until the client has gone.
    Flood(Vec<u8>, Vec<u8>, usize),
    /// Says nothing more, and keeps the connection.
    Silence,
}

impl Act {
    /// An answer with a length.
    pub(crate) fn answer(status: u16, kind: &str, body: impl AsRef<[u8]>) -> Self {
        Self::Send(answer(status, kind, body))
    }

    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::answer(status, "application/json;charset=utf-8", body)
    }

    pub(crate) fn edn(status: u16, body: &str) -> Self {
        Self::answer(status, "application/edn; charset=utf-8", body)
    }

    pub(crate) fn close() -> Self {
        Self::SendAndClose(Vec::new())
    }
}

/// The bytes of an answer.
pub(crate) fn answer(status: u16, kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The bytes of an answer that comes in chunks, whole or without its last one.
pub(crate) fn chunked(kind: &str, chunks: &[&str], is_whole: bool) -> Vec<u8> {
    let mut text =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n");
    for chunk in chunks {
        let length = format!("{:x}", chunk.len());
        text.extend([&length, "\r\n", chunk, "\r\n"]);
    }
    if is_whole {
        text.push_str("0\r\n\r\n");
    }
    text.into_bytes()
}

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Number of its connection, from 0.
    pub(crate) connection: usize,
    /// `GET /path HTTP/1.1`.
    pub(crate) line: String,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

/// The server. Ends with the test.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

type Script = Box<dyn Fn(usize, &Seen) -> Act + Send + Sync>;

struct Shared {
    script: Script,
    seen: Mutex<Vec<Seen>>,
    busy: AtomicUsize,
    busiest: AtomicUsize,
    /// Bytes that clients took of dripping and flooding answers.
    taken: AtomicUsize,
    is_over: AtomicBool,
}

impl Server {
    /// Does one act after another, the last one again and again.
    pub(crate) fn start(acts: Vec<Act>) -> Self {
        Self::with(move |number, _| acts[number.min(acts.len() - 1)].clone())
    }

    /// Does what the script says for each request, of which the first has number 0.
    pub(crate) fn with(script: impl Fn(usize, &Seen) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            seen: Mutex::default(),
            busy: AtomicUsize::new(0),
            busiest: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let shared_too = Arc::clone(&shared);
        let thread = thread::spawn(move || shared_too.accept(&listener));
        Self { address, shared, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests that came.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// How many bytes clients took of answers that drip or flood, with what stands in the system's
    /// buffers.
    pub(crate) fn taken(&self) -> usize {
        self.shared.taken.load(Ordering::SeqCst)
    }

    /// How many requests it worked on at once, at most.
    pub(crate) fn busiest(&self) -> usize {
        self.shared.busiest.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes it up.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking());
        }
    }
}

impl Shared {
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        let mut connections = Vec::new();
        for stream in listener.incoming() {
            if self.is_over.load(Ordering::SeqCst) {
                break;
            }
            let (shared, number) = (Arc::clone(&self), connections.len());
            connections.push(thread::spawn(move || shared.serve(stream.unwrap(), number)));
        }
        for connection in connections {
            connection.join().unwrap();
        }
    }

    /// Works on one connection until it or the test ends.
    fn serve(&self, stream: TcpStream, connection: usize) {
        stream.set_read_timeout(Some(GLANCE)).unwrap();
        stream.set_write_timeout(Some(LONGEST)).unwrap();
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(Patient { stream, shared: self });
        while let Some(seen) = read_request(&mut reader, connection) {
            let number = {
                let mut all = self.seen.lock().unwrap();
                all.push(seen.clone());
                all.len() - 1
            };
            let busy = self.busy.fetch_add(1, Ordering::SeqCst) + 1;
            self.busiest.fetch_max(busy, Ordering::SeqCst);
            let goes_on = self.act((self.script)(number, &seen), &mut writer);
            self.busy.fetch_sub(1, Ordering::SeqCst);
            if !goes_on {
                break;
            }
        }
    }

    /// Sends and counts; whether it may go on.
    fn goes_on(&self, writer: &mut TcpStream, bytes: &[u8]) -> bool {
        let is_taken = !self.is_over.load(Ordering::SeqCst) && writer.write_all(bytes).is_ok();
        if is_taken {
            self.taken.fetch_add(bytes.len(), Ordering::SeqCst);
        }
        is_taken
    }

    /// Whether the connection stays.
    fn act(&self, act: Act, writer: &mut TcpStream) -> bool {
        match act {
            Act::Send(bytes) => writer.write_all(&bytes).is_ok(),
            Act::SendAndClose(bytes) => {
                let _ = writer.write_all(&bytes);
                false
            }
            Act::Drip(bytes, pause) => bytes.iter().all(|byte| {
                thread::sleep(pause);
                self.goes_on(writer, &[*byte])
            }),
            Act::Flood(head, piece, times) => {
                writer.write_all(&head).is_ok() && (0..times).all(|_| self.goes_on(writer, &piece))
            }
            Act::Late(pause, bytes) => {
                thread::sleep(pause);
                writer.write_all(&bytes).is_ok()
            }
            Act::Silence => {
                let glances = LONGEST.as_millis() / GLANCE.as_millis();
                for _ in 0..glances {
                    if self.is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    thread::sleep(GLANCE);
                }
                false
            }
        }
    }
}

/// A stream that is read until the test is over.
struct Patient<'a> {
    stream: TcpStream,
    shared: &'a Shared,
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        for _ in 0..LONGEST.as_millis() / GLANCE.as_millis() {
            if self.shared.is_over.load(Ordering::SeqCst) {
                return Ok(0);
            }
            match self.stream.read(into) {
                Err(error)
                    if [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut]
                        .contains(&error.kind()) => {}
                other => return other,
            }
        }
        Ok(0)
    }
}

fn read_request(reader: &mut BufReader<Patient<'_>>, connection: usize) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&length| length > 0)?;
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
        reader.read_line(&mut headers).ok().filter(|&length| length > 0)?;
    }
    let length = headers.lines().find_map(|header| {
        header.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { connection, line: line.trim().to_owned(), headers, body })
}
