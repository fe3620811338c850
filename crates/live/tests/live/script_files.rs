//! What a script does to files on disk: changes, moves, copies, deletions, folders that come and
//! go.
//!
//! Two runs of a script do the same to them. Must not tell the session anything.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::script::{Change, FILES, FIRST, FOLDERS, Outside, SETTLED, World};

impl World {
    pub(crate) fn change_outside(&mut self, file: usize, outside: Outside) {
        let text = match (outside, self.text(file)) {
            (Outside::Delete, _) => None,
            (Outside::Restore { old }, _) => {
                let known = self.texts.get(&file).map_or(&[][..], Vec::as_slice);
                let text = known.get(known.len().saturating_sub(2)).cloned().flatten();
                self.put(file, text.clone());
                if let Some(time) = text.filter(|_| old).and_then(|text| self.times.get(&text)) {
                    self.set_time(file, *time);
                    self.wait();
                }
                return;
            }
            (Outside::Empty, _) => Some(String::new()),
            (Outside::Change(line, change), Some(text)) => {
                Some(self.changed(file, &text, line, change))
            }
            (Outside::Change(line, _), None) => {
                Some(self.fresh_lines(file, line + 1).join("\n") + "\n")
            }
            (Outside::Move(to) | Outside::MoveAndChange(to, ..), Some(_)) => {
                self.move_file(file, to);
                if let (Outside::MoveAndChange(_, line, change), Some(text)) =
                    (outside, self.text(to))
                {
                    let text = self.changed(to, &text, line, change);
                    self.put(to, Some(text));
                }
                return;
            }
            (Outside::Copy(to), Some(_)) => return self.copy(file, to),
            (Outside::Swap(with), Some(_)) => return self.swap(file, with),
            (_, None) => return,
        };
        self.put(file, text);
    }

    /// Renames a file, over what is in the other place.
    pub(crate) fn move_file(&mut self, from: usize, to: usize) {
        if from != to {
            self.rename(FILES[from], FILES[to]);
            self.wait();
            self.note_text(from);
            self.note_text(to);
        }
    }

    fn rename(&self, from: &str, to: &str) {
        let (from, to) = (self.host.path(from), self.host.path(to));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(from, to).unwrap();
    }

    /// A copy has the time at which it is made, by which a new process tells it from a move.
    pub(crate) fn copy(&mut self, from: usize, to: usize) {
        if let Some(text) = self.text(from).filter(|_| from != to) {
            self.write(to, Some(text), false);
        }
    }

    fn swap(&mut self, file: usize, with: usize) {
        if file != with && self.text(with).is_some() {
            self.rename(FILES[file], "aside");
            self.rename(FILES[with], FILES[file]);
            self.rename("aside", FILES[with]);
            self.wait();
            self.note_text(file);
            self.note_text(with);
        }
    }

    pub(crate) fn move_folder(&mut self) {
        let is_there = FOLDERS.map(|folder| self.host.path(folder).exists());
        match is_there {
            [true, false] => self.rename(FOLDERS[0], FOLDERS[1]),
            [false, true] => self.rename(FOLDERS[1], FOLDERS[0]),
            _ => return,
        }
        self.wait();
        (FIRST..FILES.len()).for_each(|file| self.note_text(file));
    }

    pub(crate) fn remove_folder(&mut self) {
        for folder in FOLDERS.map(|folder| self.host.path(folder)) {
            if folder.exists() {
                std::fs::remove_dir_all(folder).unwrap();
            }
        }
        (FIRST..FILES.len()).for_each(|file| self.note_text(file));
    }

    /// Remembers what is in a place now, for [`Outside::Restore`].
    fn note_text(&mut self, file: usize) {
        let text = self.text(file);
        self.texts.entry(file).or_default().push(text);
    }

    pub(crate) fn changed(
        &mut self,
        file: usize,
        text: &str,
        line: usize,
        change: Change,
    ) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = line % lines.len().max(1);
        let some = (line / 7 + 1).min(lines.len() - at);
        match change {
            Change::Replace => drop(lines.splice(at..at + some, self.fresh_lines(file, some))),
            Change::Insert => drop(lines.splice(at..at, self.fresh_lines(file, some))),
            Change::Remove => drop(lines.drain(at..at + some)),
            Change::Rewrite => lines = self.fresh_lines(file, line + 1),
        }
        if lines.is_empty() {
            lines = self.fresh_lines(file, 1);
        }
        lines.join("\n") + "\n"
    }

    pub(crate) fn fresh_lines(&mut self, file: usize, count: usize) -> Vec<String> {
        let first = self.lines + 1;
        self.lines += count as u64;
        (first..=self.lines).map(|n| format!("{} line {n} of its kind", FILES[file])).collect()
    }

    pub(crate) fn text(&self, file: usize) -> Option<String> {
        std::fs::read_to_string(self.host.path(FILES[file])).ok()
    }

    /// Whether this was once the text of a file.
    pub(crate) fn was_on_disk(&self, text: &str) -> bool {
        self.texts.values().flatten().any(|known| known.as_deref() == Some(text))
    }

    /// Writes or deletes a file. Most writes look old enough for their time of change to be
    /// trusted.
    pub(crate) fn put(&mut self, file: usize, text: Option<String>) {
        let looks_old = !(self.writes + 1).is_multiple_of(4);
        self.write(file, text, looks_old);
    }

    fn write(&mut self, file: usize, text: Option<String>, looks_old: bool) {
        let path = self.host.path(FILES[file]);
        match text {
            None => drop(std::fs::remove_file(&path)),
            Some(text) => {
                self.writes += 1;
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                let is_new = !path.exists();
                std::fs::write(&path, &text).unwrap();
                if is_new {
                    // When it was made tells a new process whether it stood.
                    std::thread::sleep(SETTLED);
                }
                if self.waits || looks_old {
                    let time = UNIX_EPOCH + Duration::from_secs(1_000_000 + self.writes);
                    self.set_time(file, time);
                    self.times.insert(text, time);
                }
                self.wait();
            }
        }
        self.note_text(file);
    }

    fn set_time(&self, file: usize, time: SystemTime) {
        let path = self.host.path(FILES[file]);
        let file = std::fs::File::options().write(true).open(path);
        file.and_then(|file| file.set_modified(time)).unwrap();
    }

    fn wait(&self) {
        if self.waits {
            std::thread::sleep(SETTLED);
        }
    }
}
