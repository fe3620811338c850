//! The reader: forms one by one from a stream, whatever bytes come. Stricter than EDN where XTDB's
//! output never varies: a comma stands between the entries of a map, and nowhere else.

use std::io::{self, BufRead, ErrorKind};

use super::Edn;
use base::object::Timestamp;

/// Deepest nesting that is read, which fits the stack of any thread. The server's transactions have
/// four levels.
const MAX_DEPTH: usize = 100;
/// Most members and entries that are kept of a form: a small one takes fifty times its text.
const MAX_KEPT: usize = 100_000;

const NUMBER: Edn = Edn::Other("a number");

/// Fails with `UnexpectedEof` if the text ends within a form, with `InvalidData` in words if it is not
/// EDN, and as the stream does.
type Read<T> = io::Result<T>;

fn cut_off() -> io::Error {
    ErrorKind::UnexpectedEof.into()
}

/// Reads forms from a stream.
pub(crate) struct Reader<R> {
    source: R,
    at: u64,
    /// How deep a value may be in a form for its members to be kept; deeper ones are read and
    /// dropped.
    keeps: usize,
    /// Members that were kept of the form.
    kept: usize,
}

/// Reads a text that is exactly one form.
pub(crate) fn read_all(text: &[u8]) -> Read<Edn> {
    let mut reader = Reader::new(text);
    let form = reader.form()?;
    reader.end()?;
    Ok(form)
}

impl<R: BufRead> Reader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, at: 0, keeps: MAX_DEPTH, kept: 0 }
    }

    /// The source of the bytes, for its own report.
    pub(crate) fn source_mut(&mut self) -> &mut R {
        &mut self.source
    }

    /// The next form.
    pub(crate) fn form(&mut self) -> Read<Edn> {
        (self.keeps, self.kept) = (MAX_DEPTH, 0);
        self.form_in(0)
    }

    /// Expects that nothing but white space follows.
    pub(crate) fn end(&mut self) -> Read<()> {
        match self.after_space()? {
            None => Ok(()),
            Some(byte) => Err(self.misplaced(byte, "after the end")),
        }
    }

    /// Enters a list or vector whose members are then read one by one, with [`Self::member`].
    pub(crate) fn enter(&mut self) -> Read<()> {
        match self.sign()? {
            b'(' | b'[' => self.skip(),
            byte => return Err(self.misplaced(byte, "in place of a list")),
        }
        Ok(())
    }

    /// The next member of the list entered; `None` at its end. Lists and maps inside it come
    /// without their members, since a transaction lists each of its operations.
    pub(crate) fn member(&mut self) -> Read<Option<Edn>> {
        (self.keeps, self.kept) = (1, 0);
        if !matches!(self.sign()?, b')' | b']') {
            return self.form_in(1).map(Some);
        }
        self.skip();
        Ok(None)
    }

    fn form_in(&mut self, depth: usize) -> Read<Edn> {
        if depth > MAX_DEPTH {
            return Err(self.malformed("values nested too deep"));
        }
        match self.sign()? {
            b'"' => self.text().map(Edn::Text),
            b':' => self.keyword().map(Edn::Keyword),
            b'\\' => self.character(),
            b'(' => self.pass(b')', depth, "a list"),
            b'[' => self.pass(b']', depth, "a vector"),
            b'{' => self.entries(None, depth).map(Edn::Map),
            b'#' => self.dispatch(depth),
            byte if is_delimiter(byte) => Err(self.misplaced(byte, "in place of a value")),
            _ => self.atom(),
        }
    }

    /// `#inst`, `#{`, `##Inf`, `#:ns{` and any tag.
    fn dispatch(&mut self, depth: usize) -> Read<Edn> {
        self.skip();
        match self.peek()?.ok_or_else(cut_off)? {
            b'{' => self.pass(b'}', depth, "a set"),
            // `##Inf`, `##NaN`
            b'#' => {
                self.skip();
                self.token().map(|_| NUMBER)
            }
            b':' => {
                let namespace = self.keyword()?;
                match self.peek()?.ok_or_else(cut_off)? {
                    b'{' => self.entries(Some(&namespace), depth).map(Edn::Map),
                    byte => Err(self.misplaced(byte, "in place of a map")),
                }
            }
            byte if byte.is_ascii_alphabetic() => {
                let tag = self.token()?;
                let value = self.form_in(depth + 1)?;
                self.tagged(tag, value)
            }
            byte => Err(self.misplaced(byte, "after `#`")),
        }
    }

    fn tagged(&self, tag: String, value: Edn) -> Read<Edn> {
        match (tag.as_str(), value) {
            ("inst", Edn::Text(text)) => Timestamp::parse(&text)
                .map(Edn::Instant)
                .ok_or_else(|| self.malformed(&format!("the time `{}`", short(&text)))),
            ("inst", other) => Err(self.malformed(&format!("{other} in place of a time"))),
            (_, value) => Ok(Edn::Tagged(tag, Box::new(value))),
        }
    }

    /// Reads the members of a list and drops them.
    fn pass(&mut self, close: u8, depth: usize, kind: &'static str) -> Read<Edn> {
        self.skip();
        while self.sign()? != close {
            self.form_in(depth + 1)?;
            // They count as if they were kept: no answer has so many.
            self.is_kept(depth)?;
        }
        self.skip();
        Ok(Edn::Other(kind))
    }

    fn entries(&mut self, namespace: Option<&str>, depth: usize) -> Read<Vec<(Edn, Edn)>> {
        self.skip();
        let mut entries = Vec::new();
        if self.after_space()? == Some(b'}') {
            self.skip();
            return Ok(entries);
        }
        loop {
            let key = in_namespace(self.form_in(depth + 1)?, namespace);
            let value = self.form_in(depth + 1)?;
            if self.is_kept(depth)? {
                entries.push((key, value));
            }
            match self.sign()? {
                b',' => self.skip(),
                b'}' => {
                    self.skip();
                    return Ok(entries);
                }
                byte => return Err(self.misplaced(byte, "in place of a comma")),
            }
        }
    }

    /// Its escapes are those of JSON; a line break may stand in it as it is.
    fn text(&mut self) -> Read<String> {
        let mut json = vec![b'"'];
        self.skip();
        loop {
            match self.next()?.ok_or_else(cut_off)? {
                b'"' => break,
                b'\\' => json.extend([b'\\', self.next()?.ok_or_else(cut_off)?]),
                byte @ ..0x20 => json.extend(format!("\\u{byte:04x}").bytes()),
                byte => json.push(byte),
            }
        }
        json.push(b'"');
        serde_json::from_slice(&json).map_err(|_| self.malformed("a bad text"))
    }

    /// All that matters of it is where it ends: any byte may be the first.
    fn character(&mut self) -> Read<Edn> {
        self.skip();
        self.next()?.ok_or_else(cut_off)?;
        self.token_after(&mut Vec::new())?;
        Ok(Edn::Other("a character"))
    }

    /// Without the colon. Empty for `:`, which XTDB prints for the key `""`.
    fn keyword(&mut self) -> Read<String> {
        self.skip();
        self.token()
    }

    /// A number, of which only integers of 64 bits are kept, `nil`, a boolean or a symbol.
    fn atom(&mut self) -> Read<Edn> {
        let token = self.token()?;
        let digits = token.strip_prefix(['+', '-']).unwrap_or(&token);
        Ok(match token.as_str() {
            "nil" => Edn::Nil,
            "true" | "false" => Edn::Other("a boolean"),
            _ if digits.starts_with(|first: char| first.is_ascii_digit()) => {
                token.parse().map_or(NUMBER, Edn::Integer)
            }
            _ => Edn::Other("a symbol"),
        })
    }

    fn token(&mut self) -> Read<String> {
        let mut bytes = Vec::new();
        self.token_after(&mut bytes)?;
        self.utf8(bytes)
    }

    /// Appends what follows up to the next delimiter.
    fn token_after(&mut self, bytes: &mut Vec<u8>) -> Read<()> {
        while let Some(byte) = self.peek()?.filter(|&byte| !is_delimiter(byte)) {
            bytes.push(byte);
            self.skip();
        }
        Ok(())
    }

    /// The next byte that is not white space.
    fn after_space(&mut self) -> Read<Option<u8>> {
        loop {
            match self.peek()? {
                Some(byte) if byte.is_ascii_whitespace() => self.skip(),
                other => return Ok(other),
            }
        }
    }

    /// The next byte that is not white space, where something has to follow.
    fn sign(&mut self) -> Read<u8> {
        self.after_space()?.ok_or_else(cut_off)
    }

    fn peek(&mut self) -> Read<Option<u8>> {
        Ok(self.source.fill_buf()?.first().copied())
    }

    fn next(&mut self) -> Read<Option<u8>> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.skip();
        }
        Ok(byte)
    }

    fn skip(&mut self) {
        self.source.consume(1);
        self.at += 1;
    }

    /// Whether a member of a value at this depth is kept.
    fn is_kept(&mut self, depth: usize) -> Read<bool> {
        if depth > self.keeps {
            return Ok(false);
        }
        self.kept += 1;
        if self.kept > MAX_KEPT {
            return Err(self.malformed(&format!("a value of more than {MAX_KEPT} members")));
        }
        Ok(true)
    }

    fn utf8(&self, bytes: Vec<u8>) -> Read<String> {
        String::from_utf8(bytes).map_err(|_| self.malformed("bytes that are not UTF-8"))
    }

    fn misplaced(&self, byte: u8, place: &str) -> io::Error {
        self.malformed(&format!("`{}` {place}", char::from(byte).escape_default()))
    }

    fn malformed(&self, what: &str) -> io::Error {
        io::Error::new(ErrorKind::InvalidData, format!("{what} at byte {}", self.at))
    }
}

fn in_namespace(key: Edn, namespace: Option<&str>) -> Edn {
    match (key, namespace) {
        (Edn::Keyword(name), Some(namespace)) => match name.strip_prefix("_/") {
            Some(bare) => Edn::Keyword(bare.to_owned()),
            None if name.contains('/') => Edn::Keyword(name),
            None => Edn::Keyword(format!("{namespace}/{name}")),
        },
        (key, _) => key,
    }
}

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"()[]{}\",;".contains(&byte)
}

/// The beginning of a text, for messages.
fn short(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(40).collect()
}
