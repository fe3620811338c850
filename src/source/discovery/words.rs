//! The words and operators of a shell's command line. The texts of here documents are left out.
//!
//! Pure, linear in the length of the line, and nothing fails. Crates that split words, such as `shlex`, know neither operators
//! nor redirections nor here documents, and give nothing where a quote is left open.

/// What a command line is made of.
#[derive(Debug)]
pub(super) enum Part {
    Word(Word),
    /// The end of a command.
    End,
    /// The beginning and the end of commands within: `( )`, `$( )`, `<( )`, backticks.
    Open,
    Close,
}

/// A word.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether parts of it are computed, so that nobody else knows what it says.
    pub(super) is_computed: bool,
    /// Whether it begins without a quote.
    pub(super) is_plain: bool,
}

/// Splits a command line.
pub(super) fn parts(line: &str) -> Vec<Part> {
    let mut scanner = Scanner {
        rest: line,
        parts: Vec::new(),
        word: None,
        next: Next::Plain,
        documents: Vec::new(),
        in_backticks: false,
    };
    while let Some(letter) = scanner.take() {
        scanner.scan(letter);
    }
    scanner.end_word();
    scanner.parts
}

/// What the next word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Plain,
    /// The word that ends a here document; whether tabs before it count for nothing.
    Document {
        tabs: bool,
    },
    /// The text of a here string.
    Text,
}

struct Scanner<'a> {
    rest: &'a str,
    parts: Vec<Part>,
    word: Option<Word>,
    next: Next,
    /// Here documents that begin on the next line: their last line, and whether tabs before it count for nothing.
    documents: Vec<(String, bool)>,
    in_backticks: bool,
}

impl Scanner<'_> {
    fn scan(&mut self, letter: char) {
        match letter {
            '\'' => {
                let (text, rest) = self.rest.split_once('\'').unwrap_or((self.rest, ""));
                self.rest = rest;
                self.word().text.push_str(text);
            }
            '"' => self.double_quoted(),
            '\\' => {
                if let Some(escaped) = self.take().filter(|escaped| *escaped != '\n') {
                    self.word().text.push(escaped);
                }
            }
            '\n' => {
                self.end(Part::End);
                self.skip_documents();
            }
            '#' if self.word.is_none() => self.skip_until('\n'),
            '$' => self.dollar(),
            '`' => {
                let part = if self.in_backticks { Part::Close } else { Part::Open };
                self.in_backticks = !self.in_backticks;
                self.around(part);
            }
            '(' => self.around(Part::Open),
            ')' => self.around(Part::Close),
            '&' if self.eat(">") => self.output(),
            ';' | '&' | '|' => self.end(Part::End),
            '>' => self.output(),
            '<' => self.input(),
            space if space.is_whitespace() => self.end_word(),
            plain => {
                let word = self.word();
                word.is_plain |= word.text.is_empty();
                word.text.push(plain);
            }
        }
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_until(&mut self, end: char) {
        self.rest = self.rest.find(end).map_or("", |at| &self.rest[at..]);
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.next, Next::Plain) {
            Next::Plain => self.parts.push(Part::Word(word)),
            Next::Document { tabs } => self.documents.push((word.text, tabs)),
            Next::Text => {}
        }
    }

    fn end(&mut self, part: Part) {
        self.end_word();
        self.parts.push(part);
    }

    /// The beginning or end of commands within a command. What stands right beside them is part of a word that they make.
    fn around(&mut self, part: Part) {
        let is_end = matches!(part, Part::Close);
        if let Some(word) = &mut self.word {
            word.is_computed |= !is_end;
        }
        self.end(part);
        let goes_on = |letter: char| !letter.is_whitespace() && !";&|)<>`".contains(letter);
        if is_end && self.rest.starts_with(goes_on) {
            self.word().is_computed = true;
        }
    }

    fn dollar(&mut self) {
        self.word().is_computed = true;
        if self.eat("{") {
            self.skip_until('}');
            self.eat("}");
        }
    }

    fn double_quoted(&mut self) {
        self.word();
        while let Some(letter) = self.take().filter(|letter| *letter != '"') {
            let escaped = if letter == '\\' { self.take() } else { None };
            let word = self.word();
            word.is_computed |= matches!(letter, '$' | '`');
            match escaped {
                None => word.text.push(letter),
                Some('\n') => {}
                Some(escaped) => {
                    if !matches!(escaped, '$' | '`' | '"' | '\\') {
                        word.text.push('\\');
                    }
                    word.text.push(escaped);
                }
            }
        }
    }

    /// Ends the word before a redirection; the number of a descriptor is none.
    fn end_before_redirection(&mut self) {
        let is_number = |word: &Word| word.text.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word();
    }

    /// What follows `>`: the next word is a path like any other.
    fn output(&mut self) {
        self.end_before_redirection();
        let _ = self.eat(">") || self.eat("|");
        self.descriptor();
    }

    /// What follows `<`.
    fn input(&mut self) {
        self.end_before_redirection();
        if self.eat("<<") {
            self.next = Next::Text;
        } else if self.eat("<") {
            self.next = Next::Document { tabs: self.eat("-") };
        } else {
            self.eat(">");
            self.descriptor();
        }
    }

    /// `&1`, `&-`.
    fn descriptor(&mut self) {
        if self.eat("&") {
            self.rest = self.rest.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
        }
    }

    fn skip_documents(&mut self) {
        for (last, tabs) in std::mem::take(&mut self.documents) {
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let line = line.trim_end_matches('\r');
                if (if tabs { line.trim_start_matches('\t') } else { line }) == last {
                    break;
                }
            }
        }
    }
}
