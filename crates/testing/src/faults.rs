//! A proxy before a server that does to requests what networks and failing servers do. It forwards one request at a time on
//! each connection, whole, so that a fault hits what it is meant for.

#![expect(clippy::disallowed_methods, reason = "delays and deadlines of waits are real time")]

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{Connection, Message};
use crate::ports::ClaimedPort;

/// How often a waiting thread looks whether it still has to.
const TICK: Duration = Duration::from_millis(5);

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// It is forwarded, and its answer too.
    Pass,
    /// Nobody listens, and open connections break.
    Refuse,
    /// It is answered 500 and not forwarded.
    Status500,
    /// It is answered 403 if it writes, and forwarded otherwise.
    ReadOnly,
    /// It is forwarded after this time. What waits goes on at once when the proxy is told otherwise.
    Delay(Duration),
    /// The connection ends after so many bytes of the answer's body.
    CutBodyAfter(usize),
    /// It is forwarded, but the connection ends without an answer.
    SwallowAnswer,
}

struct State {
    fault: Fault,
    /// For the next request whose first line has this text, instead of `fault`.
    once: Option<(String, Fault)>,
    /// First lines of all requests.
    seen: Vec<String>,
    /// Bytes of requests and answers that were forwarded.
    bytes: usize,
    open: Vec<TcpStream>,
    ended: bool,
}

/// The proxy; it ends when it is dropped.
pub struct Proxy {
    port: ClaimedPort,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    /// Before the server at `url`; it passes all at first.
    pub fn before(url: &str) -> Self {
        let target = url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let port = ClaimedPort::new();
        let address = ("127.0.0.1", port.number);
        let listener = TcpListener::bind(address).unwrap();
        let state = State {
            fault: Fault::Pass,
            once: None,
            seen: vec![],
            bytes: 0,
            open: vec![],
            ended: false,
        };
        let state = Arc::new(Mutex::new(state));
        let accepting = Arc::clone(&state);
        thread::spawn(move || accept(listener, address, &target, &accepting));
        Self { port, state }
    }

    /// Where it listens: `http://host:port`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.number)
    }

    /// What happens to requests from now on.
    pub fn set(&self, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        state.fault = fault;
        if fault == Fault::Refuse {
            for stream in state.open.drain(..) {
                drop(stream.shutdown(Shutdown::Both));
            }
        }
        drop(state);
        self.await_listener(fault != Fault::Refuse);
    }

    /// What happens to the next request whose first line has this text, such as `submit-tx`.
    pub fn once(&self, text: &str, fault: Fault) {
        self.state.lock().unwrap().once = Some((text.to_owned(), fault));
    }

    /// The first lines of all requests so far, also of those that were not forwarded.
    pub fn seen(&self) -> Vec<String> {
        self.state.lock().unwrap().seen.clone()
    }

    /// Bytes of all requests that were forwarded, and of their answers.
    pub fn bytes(&self) -> usize {
        self.state.lock().unwrap().bytes
    }

    /// Until somebody listens, or nobody does.
    fn await_listener(&self, listens: bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", self.port.number)).is_ok() != listens {
            assert!(Instant::now() < deadline, "the proxy does not change what it does");
            thread::sleep(TICK);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap();
        state.ended = true;
        for stream in state.open.drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

/// Accepts connections as long as the proxy lives; listens on the same port again after a time without.
fn accept(listener: TcpListener, address: (&str, u16), target: &str, state: &Arc<Mutex<State>>) {
    listener.set_nonblocking(true).unwrap();
    let mut listening = Some(listener);
    loop {
        let (ended, refuses) = {
            let state = state.lock().unwrap();
            (state.ended, state.fault == Fault::Refuse)
        };
        match &listening {
            _ if ended => return,
            Some(_) if refuses => listening = None,
            None if !refuses => {
                listening = TcpListener::bind(address).ok();
                if let Some(listener) = &listening {
                    listener.set_nonblocking(true).unwrap();
                }
            }
            Some(listener) => {
                if let Ok((client, _)) = listener.accept() {
                    serve(client, target, state);
                    continue;
                }
            }
            None => {}
        }
        thread::sleep(TICK);
    }
}

fn serve(client: TcpStream, target: &str, state: &Arc<Mutex<State>>) {
    client.set_nonblocking(false).unwrap();
    client.set_nodelay(true).unwrap();
    state.lock().unwrap().open.push(client.try_clone().unwrap());
    let (target, state) = (target.to_owned(), Arc::clone(state));
    thread::spawn(move || {
        let mut client = Connection::accepted(client);
        let mut server = None;
        while let Ok(Some(request)) = client.receive() {
            if request.cut || forward(&request, &mut client, &mut server, &target, &state).is_none()
            {
                break;
            }
        }
        drop(client.stream().shutdown(Shutdown::Both));
    });
}

/// One request; `None` ends its connection.
fn forward(
    request: &Message,
    client: &mut Connection,
    server: &mut Option<Connection>,
    target: &str,
    state: &Mutex<State>,
) -> Option<()> {
    let fault = fault_of(request, state);
    match fault {
        Fault::Refuse => return None,
        Fault::Status500 => return send_status("500 Server Error", client),
        Fault::ReadOnly if request.first_line().contains("submit-tx") => {
            return send_status("403 Forbidden", client);
        }
        Fault::Delay(time) => wait(time, state),
        Fault::Pass | Fault::ReadOnly | Fault::CutBodyAfter(_) | Fault::SwallowAnswer => {}
    }
    let answer = ask(request, server, target)?;
    let body = answer.raw_body.as_slice();
    let sizes = [&request.head, &request.raw_body, &answer.head, &answer.raw_body].map(Vec::len);
    state.lock().unwrap().bytes += sizes.iter().sum::<usize>();
    match fault {
        Fault::SwallowAnswer => None,
        Fault::CutBodyAfter(bytes) => {
            let part = &body[..bytes.min(body.len())];
            client.send(&[&answer.head, part].concat()).ok()?;
            None
        }
        _ => {
            client.send(&[&answer.head, body].concat()).ok()?;
            (!answer.cut).then_some(())
        }
    }
}

fn send_status(status: &str, client: &mut Connection) -> Option<()> {
    client.send(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).ok()
}

fn fault_of(request: &Message, state: &Mutex<State>) -> Fault {
    let line = request.first_line();
    let mut state = state.lock().unwrap();
    state.seen.push(line.clone());
    match state.once.take_if(|(text, _)| line.contains(text.as_str())) {
        Some((_, fault)) => fault,
        None => state.fault,
    }
}

/// Asks the server, on the connection that there is, or on a new one.
fn ask(request: &Message, server: &mut Option<Connection>, target: &str) -> Option<Message> {
    if server.is_none() {
        *server = Some(Connection::open(target).ok()?);
    }
    let open = server.as_mut()?;
    let sent = open.send(&[request.head.as_slice(), &request.raw_body].concat());
    let answer = sent.and_then(|()| open.receive());
    answer.ok().flatten()
}

/// Waits, unless the fault changes or the proxy ends.
fn wait(time: Duration, state: &Mutex<State>) {
    let deadline = Instant::now() + time;
    let fault = state.lock().unwrap().fault;
    while Instant::now() < deadline {
        let state = state.lock().unwrap();
        if state.ended || state.fault != fault {
            return;
        }
        drop(state);
        thread::sleep(TICK);
    }
}
