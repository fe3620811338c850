//! Line numbers of a text. Must not look at the text of a line.

/// The lines of a text.
#[derive(Debug)]
pub(super) struct LineNumbers {
    starts: Vec<usize>,
    end: usize,
}

impl LineNumbers {
    pub(super) fn new(text: &str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut starts = vec![0];
        starts.extend(after_breaks.map(|(at, _)| at + 1));
        Self { starts, end: text.len() }
    }

    /// The line, from 1, that the byte `at` is on.
    pub(super) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    /// The last line. A line break at the end does not begin another one.
    pub(super) fn last(&self) -> usize {
        let count = self.starts.len();
        let empty_end = count > 1 && self.starts[count - 1] == self.end;
        if empty_end { count - 1 } else { count }
    }
}
