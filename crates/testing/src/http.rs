//! HTTP/1.1 as bytes: for tests that must see what a client library would hide, such as a body that is cut off. One thread, one
//! connection; knows no endpoint.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longer than any request of a test takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A request or an answer: its first line and headers, and its body as it was sent, chunks and all.
pub struct Message {
    /// Up to and with the empty line.
    pub head: Vec<u8>,
    /// As it was sent.
    pub raw_body: Vec<u8>,
    /// Whether the connection ended before the body did.
    pub cut: bool,
}

impl Message {
    /// The first line.
    pub fn first_line(&self) -> String {
        String::from_utf8_lossy(&self.head).lines().next().unwrap_or_default().to_owned()
    }

    /// The code of an answer.
    pub fn status(&self) -> u16 {
        self.first_line().split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<String> {
        header(&self.head, name)
    }

    /// The body without the marks of chunks.
    pub fn body(&self) -> Vec<u8> {
        if !is_chunked(&self.head) {
            return self.raw_body.clone();
        }
        let (mut body, mut rest) = (Vec::new(), self.raw_body.as_slice());
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let size = std::str::from_utf8(&rest[..end]).unwrap().trim();
            let size = usize::from_str_radix(size, 16).unwrap();
            let chunk = &rest[end + 1..];
            if size == 0 || chunk.len() < size + 2 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
            rest = &chunk[size + 2..];
        }
        body
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.body()).unwrap()
    }
}

/// A connection that is kept.
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    /// To `host:port`.
    pub fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// From a connection that was accepted.
    pub fn accepted(stream: TcpStream) -> Self {
        Self(BufReader::new(stream))
    }

    /// The connection below.
    pub fn stream(&mut self) -> &mut TcpStream {
        self.0.get_mut()
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream().write_all(bytes)
    }

    /// The next message; `None` where the other side has closed the connection.
    pub fn receive(&mut self) -> io::Result<Option<Message>> {
        let Some(head) = read_head(&mut self.0)? else { return Ok(None) };
        let mut raw_body = Vec::new();
        let read = if is_chunked(&head) {
            read_chunks(&mut self.0, &mut raw_body)
        } else {
            read_length(&mut self.0, &head, &mut raw_body)
        };
        match read {
            Ok(()) => Ok(Some(Message { head, raw_body, cut: false })),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(Some(Message { head, raw_body, cut: true }))
            }
            Err(error) => Err(error),
        }
    }

    /// The same for HEAD, whose answer has no body whatever its headers say.
    pub fn ask_head(&mut self, request: &Request) -> io::Result<Option<Message>> {
        self.send(&request.bytes())?;
        let head = read_head(&mut self.0)?;
        Ok(head.map(|head| Message { head, raw_body: Vec::new(), cut: false }))
    }

    /// Sends a request and reads its answer.
    pub fn ask(&mut self, request: &Request) -> io::Result<Option<Message>> {
        self.send(&request.bytes())?;
        self.receive()
    }
}

/// A request to be sent.
pub struct Request<'a> {
    /// In capitals.
    pub method: &'a str,
    /// With the query.
    pub path: &'a str,
    /// Besides `Host` and `Content-Length`.
    pub headers: &'a [(&'a str, &'a str)],
    /// Sent with its length, if there is one.
    pub body: Option<&'a [u8]>,
}

impl Request<'_> {
    fn bytes(&self) -> Vec<u8> {
        let length = self.body.map(|body| body.len().to_string());
        let length = length.iter().map(|length| ("Content-Length", length.as_str()));
        let headers = self.headers.iter().copied().chain(length);
        let headers: String =
            headers.flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
        let head =
            format!("{} {} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n", self.method, self.path);
        [head.as_bytes(), self.body.unwrap_or_default()].concat()
    }
}

/// The value of a header in a head.
fn header(head: &[u8], name: &str) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let mut headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let (_, value) = headers.find(|(found, _)| found.eq_ignore_ascii_case(name))?;
    Some(value.trim().to_owned())
}

fn is_chunked(head: &[u8]) -> bool {
    header(head, "transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
}

fn read_head(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head != b"\r\n" {
        if reader.read_until(b'\n', &mut head)? == 0 {
            return if head.is_empty() {
                Ok(None)
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            };
        }
    }
    Ok(Some(head))
}

fn read_length(reader: &mut impl Read, head: &[u8], body: &mut Vec<u8>) -> io::Result<()> {
    let length = header(head, "content-length").map_or(0, |length| length.parse().unwrap());
    if reader.take(length).read_to_end(body)? < usize::try_from(length).unwrap() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        body.extend_from_slice(&line);
        let size = std::str::from_utf8(&line).unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        // The chunk, and the end of its line.
        let read = reader.by_ref().take(size + 2).read_to_end(body)?;
        if u64::try_from(read).unwrap() < size + 2 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if size == 0 {
            return Ok(());
        }
    }
}
