//! The words and operators of a command line.
//!
//! One pass, linear in the length of the line, without recursion. Never fails, whatever the line
//! holds. Parts that a shell would compute are marked, never computed. Source: the token rules of
//! POSIX.1-2024, "Shell Command Language", and of the Bash manual.

use super::{Redirect, Word};

/// Bytes searched for the end of `$((`. Without an end, it opens two commands.
const MAX_ARITHMETIC_BYTES: usize = 256;
/// Most nesting of commands. Anything deeper is read as if it were at this depth.
const MAX_NESTING: usize = 100;

/// What a command line is made of.
#[derive(Debug)]
pub(super) enum Token {
    Word(Word),
    /// A here document, by its index in [`Tokens::documents`].
    Document(usize),
    /// The end of a command whose output the next one reads: `|`, `|&`.
    Pipe,
    /// The end of a command and of its pipeline: `;`, `&`, `&&`, `||`, the end of a line.
    End,
    /// The beginning of inner commands.
    Open(Open),
    /// The end of inner commands.
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// `( )`.
    Subshell,
    /// `$( )`, `<( )`, backticks: the output becomes part of a word or a file and is not shown.
    Substitution,
}

/// The tokens of a line.
#[derive(Debug)]
pub(super) struct Tokens {
    pub(super) list: Vec<Token>,
    /// The texts of here documents.
    pub(super) documents: Vec<String>,
}

/// Splits a command line.
pub(super) fn tokens(line: &str) -> Tokens {
    let mut scanner = Scanner {
        rest: line,
        tokens: Tokens { list: Vec::new(), documents: Vec::new() },
        word: None,
        next: Next::Plain,
        pending: Vec::new(),
        outer: Vec::new(),
        backticks: 0,
    };
    while let Some(letter) = scanner.take() {
        scanner.scan(letter);
    }
    while scanner.leave() {}
    scanner.end_word();
    scanner.tokens
}

/// What the next word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Plain,
    Redirect(Redirect),
    /// The word that ends a here document, and whether tabs before it are ignored.
    Document {
        tabs: bool,
    },
    /// The text of a here string.
    Text,
}

/// A here document whose text begins on the next line.
struct Pending {
    document: usize,
    last_line: String,
    tabs: bool,
}

/// The surroundings of the scanned commands.
struct Outer {
    open: Open,
    is_backtick: bool,
    /// Whether they are inside double quotes.
    is_quoted: bool,
    /// The word around them, which continues after them, and its kind.
    word: Option<Word>,
    next: Next,
}

struct Scanner<'a> {
    rest: &'a str,
    tokens: Tokens,
    word: Option<Word>,
    next: Next,
    pending: Vec<Pending>,
    outer: Vec<Outer>,
    /// Open backticks.
    backticks: usize,
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
                self.end(Token::End);
                self.take_documents();
            }
            '#' if self.word.is_none() => self.skip_until('\n'),
            '$' if self.eat("'") => self.ansi_quoted(),
            '$' => {
                self.dollar(false);
            }
            '`' => {
                self.backtick(false);
            }
            '(' => {
                let is_array = self.word.as_ref().is_some_and(|word| word.text.ends_with('='));
                let open = if is_array { Open::Substitution } else { Open::Subshell };
                if !self.enter(open, false, false) {
                    self.end(Token::End);
                }
            }
            ')' if self.outer.last().is_some_and(|outer| !outer.is_backtick) => {
                self.leave();
            }
            '&' if self.eat(">") => self.redirect_output(Redirect::Output),
            '|' if self.eat("|") => self.end(Token::End),
            '|' => {
                self.eat("&");
                self.end(Token::Pipe);
            }
            // A `)` that closes nothing ends the pattern of a `case`.
            ';' | '&' | ')' => self.end(Token::End),
            '>' => {
                let redirect = self.end_before_redirection();
                self.redirect_output(redirect);
            }
            '<' => self.redirect_input(),
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
        let Some(mut word) = self.word.take() else { return };
        match std::mem::replace(&mut self.next, Next::Plain) {
            Next::Plain => self.tokens.list.push(Token::Word(word)),
            Next::Redirect(redirect) => {
                word.redirect = Some(redirect);
                self.tokens.list.push(Token::Word(word));
            }
            Next::Document { tabs } => {
                let document = self.tokens.documents.len();
                self.tokens.documents.push(String::new());
                self.tokens.list.push(Token::Document(document));
                self.pending.push(Pending { document, last_line: word.text, tabs });
            }
            Next::Text => {}
        }
    }

    fn end(&mut self, token: Token) {
        self.end_word();
        self.next = Next::Plain;
        self.tokens.list.push(token);
    }

    /// Begins inner commands; `false` if they are nested too deep.
    fn enter(&mut self, open: Open, is_backtick: bool, is_quoted: bool) -> bool {
        if self.outer.len() >= MAX_NESTING {
            return false;
        }
        if open == Open::Subshell {
            self.end_word();
        }
        let (word, next) = (self.word.take(), std::mem::replace(&mut self.next, Next::Plain));
        self.outer.push(Outer { open, is_backtick, is_quoted, word, next });
        self.backticks += usize::from(is_backtick);
        self.tokens.list.push(Token::Open(open));
        true
    }

    /// Ends the innermost commands; `false` if there are none.
    fn leave(&mut self) -> bool {
        self.end_word();
        let Some(outer) = self.outer.pop() else { return false };
        self.tokens.list.push(Token::Close);
        self.backticks -= usize::from(outer.is_backtick);
        (self.word, self.next) = (outer.word, outer.next);
        if outer.open == Open::Substitution && self.word.is_some() {
            self.word().is_computed = true;
        }
        if outer.is_quoted {
            self.double_quoted();
        }
        true
    }

    /// Handles a backtick; `true` if commands begin.
    fn backtick(&mut self, is_quoted: bool) -> bool {
        if self.backticks == 0 {
            self.word().is_computed = true;
            return self.enter(Open::Substitution, true, is_quoted);
        }
        // It also closes what was opened inside.
        let before = self.backticks;
        while self.backticks == before {
            self.leave();
        }
        false
    }

    /// Reads what follows `$`; `true` if commands follow.
    fn dollar(&mut self, is_quoted: bool) -> bool {
        self.word().is_computed = true;
        if self.rest.starts_with("((") {
            let reach = &self.rest.as_bytes()[..self.rest.len().min(MAX_ARITHMETIC_BYTES)];
            if let Some(end) = memchr::memmem::find(reach, b"))") {
                self.rest = &self.rest[end + 2..];
                return false;
            }
        }
        if self.eat("(") {
            return self.enter(Open::Substitution, false, is_quoted);
        }
        if !is_quoted && self.eat("{") {
            self.skip_until('}');
            self.eat("}");
        }
        false
    }

    /// Reads the text of `$'…'`, whose escapes are constant. A zero byte ends it, as in Bash.
    fn ansi_quoted(&mut self) {
        let mut text: Vec<u8> = Vec::new();
        while let Some(letter) = self.take().filter(|letter| *letter != '\'') {
            if letter == '\\' {
                self.escape(&mut text);
            } else {
                text.extend(letter.encode_utf8(&mut [0; 4]).bytes());
            }
        }
        let kept = text.split(|byte| *byte == 0).next().unwrap_or_default();
        self.word().text.push_str(&String::from_utf8_lossy(kept));
    }

    /// Reads what follows `\` in `$'…'`. Control characters of the form `\cx` are in no name.
    fn escape(&mut self, text: &mut Vec<u8>) {
        if let Some(code) = self.number(8, 3) {
            text.push(code.to_le_bytes()[0]);
            return;
        }
        let Some(letter) = self.take() else { return };
        let most = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let decoded = match (letter, self.number(16, most)) {
            ('x', Some(code)) => return text.push(code.to_le_bytes()[0]),
            (_, Some(code)) => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
            ('a', _) => '\u{7}',
            ('b', _) => '\u{8}',
            ('e' | 'E', _) => '\u{1b}',
            ('f', _) => '\u{c}',
            ('n', _) => '\n',
            ('r', _) => '\r',
            ('t', _) => '\t',
            ('v', _) => '\u{b}',
            ('\\' | '\'' | '"' | '?', _) => letter,
            _ => {
                text.push(b'\\');
                letter
            }
        };
        text.extend(decoded.encode_utf8(&mut [0; 4]).bytes());
    }

    /// Reads a number of at most so many digits; `None` if there is none.
    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let digits =
            self.rest.chars().take(most).take_while(|letter| letter.is_digit(radix)).count();
        let (number, rest) = self.rest.split_at(digits);
        let number = u32::from_str_radix(number, radix).ok()?;
        self.rest = rest;
        Some(number)
    }

    /// Reads the text up to the closing quote or to commands inside.
    fn double_quoted(&mut self) {
        self.word();
        while let Some(letter) = self.take() {
            match letter {
                '"' => return,
                '$' => {
                    if self.dollar(true) {
                        return;
                    }
                    self.word().text.push('$');
                }
                '`' if self.backticks == 0 => {
                    if self.backtick(true) {
                        return;
                    }
                }
                '\\' => match self.take() {
                    Some('\n') | None => {}
                    Some(escaped) => {
                        let word = self.word();
                        if !matches!(escaped, '$' | '`' | '"' | '\\') {
                            word.text.push('\\');
                        }
                        word.text.push(escaped);
                    }
                },
                letter => self.word().text.push(letter),
            }
        }
    }

    /// Ends the word before `>`. If it is a descriptor's number, it says what is redirected.
    fn end_before_redirection(&mut self) -> Redirect {
        let is_number =
            |word: &&mut Word| word.is_plain && word.text.bytes().all(|byte| byte.is_ascii_digit());
        let number = self.word.as_mut().filter(is_number).map(|word| word.text.clone());
        if number.is_some() {
            self.word = None;
        }
        self.end_word();
        match number.as_deref() {
            None | Some("1") => Redirect::Output,
            Some(_) => Redirect::Error,
        }
    }

    fn redirect_output(&mut self, redirect: Redirect) {
        self.end_word();
        let _ = self.eat(">") || self.eat("|");
        self.redirect(redirect);
    }

    fn redirect_input(&mut self) {
        self.end_before_redirection();
        if self.eat("<<") {
            self.next = Next::Text;
        } else if self.eat("<") {
            self.next = Next::Document { tabs: self.eat("-") };
        } else {
            self.eat(">");
            self.redirect(Redirect::Input);
        }
    }

    /// `&1` and `&-` name a descriptor, `(` begins commands; anything else is a path.
    fn redirect(&mut self, redirect: Redirect) {
        if self.eat("&") {
            let rest = self.rest.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
            if rest.len() < self.rest.len() {
                self.rest = rest;
                return;
            }
        }
        if self.eat("(") {
            self.enter(Open::Substitution, false, false);
        } else {
            self.next = Next::Redirect(redirect);
        }
    }

    fn take_documents(&mut self) {
        for Pending { document, last_line, tabs } in std::mem::take(&mut self.pending) {
            let start = self.rest;
            let mut end = start.len();
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                let here = start.len() - self.rest.len();
                self.rest = rest;
                let line = line.trim_end_matches('\r');
                if (if tabs { line.trim_start_matches('\t') } else { line }) == last_line {
                    end = here;
                    break;
                }
            }
            start[..end].clone_into(&mut self.tokens.documents[document]);
        }
    }
}
