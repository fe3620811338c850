//! Ports for servers that are started in another process, later, or again, as `scripts/lib/ports.js` gives them to tests on Node.
//! Such a port must not lie where the system takes ports from: between its choice and its use, or while its server is down, somebody
//! else's connection could get it.

use std::net::TcpListener;
use std::ops::Range;

/// Below what Linux (from 32768) and macOS (from 49152) give out by themselves.
const PLACES: Range<u16> = 20_000..32_000;
/// One for the claim, one for the server, and room for what a server may open beside its own.
const SPAN: u16 = 20;
const ATTEMPTS: usize = 100;

/// A port on loopback that nobody else claims as long as this lives. The claim is a listener on the port before: the system lets
/// one process have it, and takes it from a process that was killed.
pub struct ClaimedPort {
    pub number: u16,
    _claim: TcpListener,
}

impl ClaimedPort {
    pub fn new() -> Self {
        (0..ATTEMPTS).find_map(|_| Self::at(random_place())).expect("a port that is free")
    }

    fn at(place: u16) -> Option<Self> {
        let claim = TcpListener::bind(("127.0.0.1", place)).ok()?;
        let number = place + 1;
        let free = TcpListener::bind(("127.0.0.1", number)).is_ok();
        free.then_some(Self { number, _claim: claim })
    }
}

fn random_place() -> u16 {
    let places = PLACES.len() / usize::from(SPAN);
    PLACES.start + SPAN * u16::try_from(fastrand::usize(..places)).unwrap()
}
