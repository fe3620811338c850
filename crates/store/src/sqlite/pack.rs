//! Packs: short texts, written one after another and compressed together. Must not know what the
//! texts are.
//!
//! An event or message of a few hundred bytes hardly compresses alone, but well with its
//! neighbours, which have the same keys, IDs, hashes and lines. So each transaction adds its short
//! texts to the newest pack until that is full, and a row stores its text's place in the pack. A
//! place never changes. (A recorded session of 440 calls: 1,280 kB as separate texts, 290 kB in
//! packs.)

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use rusqlite::{Connection, named_params};
use zstd::zstd_safe;

use super::failure::{Failure, Step};
use super::statements::Statements;

/// Longer texts are stored alone: a growing pack is rewritten each time, and always decoded as a
/// whole.
pub(super) const PACKED_BELOW_BYTES: usize = 8 << 10;

/// A pack of this size is full. Decompressing one takes about 40 µs; 64 KiB takes 27 µs and 128 KiB
/// 55 µs. Smaller ones take more disk: 36 recorded sessions took 62 % of their hosts' files with 64
/// KiB, and 59 % with 128 KiB.
const FULL_BYTES: usize = 96 << 10;

/// No pack is as large: SQLite stores no longer text.
const MAX_BYTES: usize = 1 << 31;

/// Places of one pack.
const PLACES: i64 = 1 << 12;
const PLACES_OF_ONE: usize = 1 << 12;

/// zstd's levels for a growing pack, which each transaction rewrites, and for a full one.
const GROWING_LEVEL: i32 = 1;
const FULL_LEVEL: i32 = 9;
/// The same for in-memory packs, which take no disk: almost no compression.
const MEMORY_LEVEL: i32 = -50;

/// A text's place: row of the pack × 4,096 + number of the text in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PackedText(pub(super) i64);

impl PackedText {
    /// The place of a text in the pack of a row.
    fn of(row: i64, slot: usize) -> Self {
        Self(row * PLACES + i64::try_from(slot).unwrap_or(PLACES - 1))
    }

    /// Row of the pack.
    pub(super) fn pack(self) -> i64 {
        self.0 / PLACES
    }

    /// Number of the text in the pack.
    pub(super) fn slot(self) -> usize {
        usize::try_from(self.0 % PLACES).unwrap_or(usize::MAX)
    }
}

/// The texts of a pack: number of texts, where each ends (both u32, little endian), the texts; all
/// in one zstd frame.
#[derive(Debug, Default, Clone)]
pub(super) struct Pack {
    ends: Vec<u32>,
    text: String,
}

impl Pack {
    /// Reads a frame.
    pub(super) fn decode(frame: &[u8]) -> Step<Self> {
        let size = zstd_safe::get_frame_content_size(frame).ok().flatten();
        let size =
            size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size < MAX_BYTES);
        let size = size.ok_or_else(|| Failure::damaged("a pack of texts has no valid size"))?;
        let bytes = zstd::bulk::decompress(frame, size).map_err(Failure::damaged)?;
        Self::parse(&bytes).ok_or_else(|| Failure::damaged("a pack of texts has no valid form"))
    }

    /// The text at a place.
    pub(super) fn get(&self, place: PackedText) -> Option<&str> {
        let slot = place.slot();
        let end = usize::try_from(*self.ends.get(slot)?).ok()?;
        let start = match slot.checked_sub(1) {
            Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
            None => 0,
        };
        self.text.get(start..end)
    }

    /// The places of all texts, for the pack of this row.
    pub(super) fn places(&self, row: i64) -> impl Iterator<Item = PackedText> + use<> {
        (0..self.ends.len()).map(move |slot| PackedText::of(row, slot))
    }

    /// The same pack, with the texts emptied for which `keeps` is false.
    pub(super) fn keep(&self, row: i64, keeps: impl Fn(PackedText) -> bool) -> Self {
        let mut kept = Self::default();
        for place in self.places(row) {
            kept.push(self.get(place).filter(|_| keeps(place)).unwrap_or_default());
        }
        kept
    }

    /// The frame to store.
    fn encode(&self, in_memory: bool) -> Step<Vec<u8>> {
        let mut bytes = Vec::with_capacity(4 + 4 * self.ends.len() + self.text.len());
        let count = u32::try_from(self.ends.len()).map_err(Failure::damaged)?;
        for number in std::iter::once(&count).chain(&self.ends) {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.text.as_bytes());
        let level = match (in_memory, self.is_full()) {
            (true, _) => MEMORY_LEVEL,
            (false, true) => FULL_LEVEL,
            (false, false) => GROWING_LEVEL,
        };
        zstd::bulk::compress(&bytes, level).map_err(Failure::damaged)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
        let (ends, text) = rest.split_at_checked(count.checked_mul(4)?)?;
        let ends = ends.chunks_exact(4).filter_map(|end| end.try_into().ok());
        let ends = ends.map(u32::from_le_bytes).collect();
        Some(Self { ends, text: std::str::from_utf8(text).ok()?.to_owned() })
    }

    /// Adds a text; returns its number.
    fn push(&mut self, text: &str) -> usize {
        self.text.push_str(text);
        // Texts are shorter than 2 GB, like everything in SQLite, and a full pack gets no more.
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        self.ends.len() - 1
    }

    fn is_full(&self) -> bool {
        self.text.len() >= FULL_BYTES || self.ends.len() >= PLACES_OF_ONE
    }
}

/// Full packs that are compressed at once, each on a thread of its own: that takes longer than all
/// else that a transaction does.
const AT_ONCE: usize = 4;

/// A full pack whose frame is being made.
struct Full {
    row: i64,
    pack: Arc<Pack>,
    /// `None` if the system has no thread.
    frame: Option<JoinHandle<Step<Vec<u8>>>>,
}

/// Adds the texts of one SQLite transaction to packs. Before [`Self::finish`], only full packs are
/// written.
pub(super) struct Packer<'c> {
    connection: &'c Connection,
    growing: RefCell<Option<(i64, Pack)>>,
    full: RefCell<VecDeque<Full>>,
}

impl<'c> Packer<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, growing: RefCell::new(None), full: RefCell::default() }
    }

    /// Adds a text.
    pub(super) fn add(&self, text: &str) -> Step<PackedText> {
        let mut growing = self.growing.borrow_mut();
        let (row, pack) = match growing.take() {
            Some(known) => growing.insert(known),
            None => growing.insert(self.newest()?),
        };
        let place = PackedText::of(*row, pack.push(text));
        if pack.is_full() {
            let full = Full::new(self.connection, *row, std::mem::take(pack));
            *growing = Some((*row + 1, Pack::default()));
            let mut waiting = self.full.borrow_mut();
            waiting.push_back(full);
            if waiting.len() > AT_ONCE {
                waiting.pop_front().map_or(Ok(()), |full| full.save(self.connection))?;
            }
        }
        Ok(place)
    }

    /// Writes all packs, also the one that is not full yet.
    pub(super) fn finish(&self) -> Step<()> {
        for full in self.full.take() {
            full.save(self.connection)?;
        }
        match self.growing.take() {
            Some((row, pack)) if !pack.ends.is_empty() => save(self.connection, row, pack),
            _ => Ok(()),
        }
    }

    /// The pack to continue, and its row.
    fn newest(&self) -> Step<(i64, Pack)> {
        let sql = "SELECT pack, texts FROM pack ORDER BY pack DESC LIMIT 1";
        let found = self.connection.first(sql, [], |row| {
            let pack = decode(row.get_ref(1)?.as_blob().map_err(Failure::damaged)?)?;
            Ok::<(i64, _), Failure>((row.get(0)?, pack))
        })?;
        let Some((row, pack)) = found else { return Ok((1, Pack::default())) };
        Ok(if pack.is_full() { (row + 1, Pack::default()) } else { (row, (*pack).clone()) })
    }
}

impl Full {
    fn new(connection: &Connection, row: i64, pack: Pack) -> Self {
        let (pack, in_memory) = (Arc::new(pack), is_in_memory(connection));
        let encoded = Arc::clone(&pack);
        let frame = Builder::new().spawn(move || encoded.encode(in_memory)).ok();
        Self { row, pack, frame }
    }

    fn save(self, connection: &Connection) -> Step<()> {
        let Self { row, pack, frame } = self;
        let frame = match frame.map(JoinHandle::join) {
            Some(Ok(frame)) => frame?,
            // No thread, or one that ended before its work.
            None | Some(Err(_)) => pack.encode(is_in_memory(connection))?,
        };
        write(connection, row, &frame)?;
        remember(frame, pack);
        Ok(())
    }
}

/// The place that the next text gets, or one before it.
pub(super) fn next_place(connection: &Connection) -> Step<PackedText> {
    let (row, pack) = Packer::new(connection).newest()?;
    Ok(PackedText::of(row, pack.ends.len()))
}

/// Writes a pack.
pub(super) fn save(connection: &Connection, row: i64, pack: Pack) -> Step<()> {
    let frame = pack.encode(is_in_memory(connection))?;
    write(connection, row, &frame)?;
    remember(frame, Arc::new(pack));
    Ok(())
}

fn write(connection: &Connection, row: i64, frame: &[u8]) -> Step<()> {
    let sql = "INSERT INTO pack (pack, texts) VALUES (:pack, :texts)
               ON CONFLICT (pack) DO UPDATE SET texts = excluded.texts";
    connection.run(sql, named_params! { ":pack": row, ":texts": frame })?;
    Ok(())
}

fn is_in_memory(connection: &Connection) -> bool {
    connection.path().is_none_or(str::is_empty)
}

/// Number of packs that a thread caches.
const RECENT: usize = 4;

thread_local! {
    /// The packs that this thread last read or wrote, newest first, by their frames, so that a pack
    /// changed by another process is never mistaken for its former state.
    static RECENTLY: RefCell<Vec<(Vec<u8>, Arc<Pack>)>> = const { RefCell::new(Vec::new()) };
}

/// Decodes a frame, unless this thread decoded it recently.
fn decode(frame: &[u8]) -> Step<Arc<Pack>> {
    let known = RECENTLY.with_borrow(|recent| {
        recent.iter().find(|(known, _)| known == frame).map(|(_, pack)| Arc::clone(pack))
    });
    if let Some(pack) = known {
        return Ok(pack);
    }
    let pack = Arc::new(Pack::decode(frame)?);
    remember(frame.to_owned(), Arc::clone(&pack));
    Ok(pack)
}

fn remember(frame: Vec<u8>, pack: Arc<Pack>) {
    RECENTLY.with_borrow_mut(|recent| {
        recent.truncate(RECENT - 1);
        recent.insert(0, (frame, pack));
    });
}

/// Reads texts from packs; caches the last pack, because texts that are read together were mostly
/// written together.
pub(super) struct Packs<'c> {
    connection: &'c Connection,
    last: RefCell<Option<(i64, Arc<Pack>)>>,
}

impl<'c> Packs<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, last: RefCell::new(None) }
    }

    /// The text at a place.
    pub(super) fn text(&self, place: PackedText) -> Step<String> {
        let missing = || Failure::damaged(format!("no text is at place {}", place.0));
        let pack = self.pack(place.pack())?.ok_or_else(missing)?;
        pack.get(place).map(str::to_owned).ok_or_else(missing)
    }

    fn pack(&self, row: i64) -> Step<Option<Arc<Pack>>> {
        if let Some((_, pack)) = self.last.borrow().as_ref().filter(|(last, _)| *last == row) {
            return Ok(Some(Arc::clone(pack)));
        }
        let sql = "SELECT texts FROM pack WHERE pack = ?1";
        let pack = self.connection.first(sql, [row], |found| {
            decode(found.get_ref(0)?.as_blob().map_err(Failure::damaged)?)
        })?;
        if let Some(pack) = &pack {
            *self.last.borrow_mut() = Some((row, Arc::clone(pack)));
        }
        Ok(pack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE pack (pack INTEGER PRIMARY KEY, texts BLOB NOT NULL)")
            .unwrap();
        connection
    }

    #[test]
    fn texts_come_back_from_their_places() {
        let connection = table();
        let texts: Vec<String> =
            (0..9_000).map(|number| format!("{number}é").repeat(number % 40)).collect();
        let mut places = Vec::new();
        for some in texts.chunks(17) {
            let packer = Packer::new(&connection);
            places.extend(some.iter().map(|text| packer.add(text).unwrap()));
            packer.finish().unwrap();
        }
        let packs = Packs::new(&connection);
        for (text, place) in texts.iter().zip(&places) {
            assert_eq!(packs.text(*place).unwrap(), *text);
        }
        assert!(places.is_sorted() && places.last().unwrap().pack() > 2, "{:?}", places.last());
        assert!(packs.text(PackedText(places.last().unwrap().0 + 1)).is_err());
    }

    #[test]
    fn a_text_that_goes_leaves_its_neighbours_in_their_places() {
        let mut pack = Pack::default();
        for text in ["one", "two", "three"] {
            pack.push(text);
        }
        let kept = pack.keep(2, |place| place.slot() != 0);
        let read = Pack::decode(&kept.encode(false).unwrap()).unwrap();
        let texts: Vec<_> = read.places(2).filter_map(|place| read.get(place)).collect();
        assert_eq!(texts, ["", "two", "three"]);
    }

    #[test]
    fn damage_is_an_error() {
        for bytes in [&b""[..], &[9, 0, 0, 0, 1], &[1, 0, 0, 0, 1, 0, 0, 0, 0xFF]] {
            let frame = zstd::bulk::compress(bytes, 1).unwrap();
            assert!(Pack::decode(&frame).is_err());
            assert!(Pack::decode(bytes).is_err());
        }
    }
}
