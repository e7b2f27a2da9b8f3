//! Comments, and the tokens they belong to, by the rules of go-yaml v3.
//!
//! A comment is a *line* comment of the token in front of it, the *head* of what follows it, or the
//! *foot* of what came before it, when an empty line follows or it is indented less. The rules are
//! go-yaml's, with their corners: columns in them count from one, and a run of lines is looked at
//! byte by byte from the end of the comment before.

use super::Scanner;
use crate::token::{Mark, Token, TokenKind};

/// How far go-yaml looks for a comment behind blanks.
const LOOK_AHEAD: usize = 512;

/// A comment and the positions that decide which token it belongs to. One of the three texts is not empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comment {
    /// Where the search for it began.
    scan: Mark,
    /// The token it belongs to starts here, or is the first one after here.
    pub(crate) token: Mark,
    start: Mark,
    end: Mark,
    pub(crate) head: String,
    pub(crate) line: String,
    pub(crate) foot: String,
}

/// What has to be known of a token after it left the queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    pub(super) mark: Mark,
    pub(super) is_block_entry: bool,
    is_block_sequence_start: bool,
    is_flow_entry: bool,
    is_value: bool,
}

impl Taken {
    pub(super) fn of(token: &Token<'_>) -> Self {
        Self {
            mark: token.mark,
            is_block_entry: matches!(token.kind, TokenKind::BlockEntry),
            is_block_sequence_start: matches!(token.kind, TokenKind::BlockSequenceStart),
            is_flow_entry: matches!(token.kind, TokenKind::FlowEntry),
            is_value: matches!(token.kind, TokenKind::Value),
        }
    }
}

impl Scanner<'_> {
    /// The last token of all (0) or the one before it (1), in the queue or not.
    pub(super) fn recent(&self, back: usize) -> Taken {
        let queued = self.tokens.len();
        if back < queued {
            self.tokens.get(queued - 1 - back).map(Taken::of).unwrap_or_default()
        } else {
            self.taken.get(back - queued).copied().unwrap_or_default()
        }
    }

    /// Line breaks since the last character that was not blank.
    fn newlines(&self) -> usize {
        let mut rest = &self.bytes[..self.position];
        let mut count = 0;
        loop {
            rest = match rest {
                [before @ .., b' ' | b'\t'] => before,
                [before @ .., b'\r', b'\n']
                | [before @ .., b'\n' | b'\r']
                | [before @ .., 0xC2, 0x85]
                | [before @ .., 0xE2, 0x80, 0xA8 | 0xA9] => {
                    count += 1;
                    before
                }
                _ => return count,
            };
        }
    }

    /// Reads the comment on the rest of this line for the token at `token`.
    pub(super) fn scan_line_comment(&mut self, token: Mark) {
        let blanks = (0..LOOK_AHEAD).take_while(|offset| self.is_blank(*offset)).count();
        if self.at(blanks) != b'#' || self.newlines() > 0 {
            return;
        }
        self.position += blanks;
        let start = self.mark();
        let line = self.read_comment();
        self.comments.push_back(Comment { token, start, line, ..Comment::default() });
    }

    /// Reads from `#` to the end of the line.
    fn read_comment(&mut self) -> String {
        let end = self.line_end();
        let text = self.text[self.position..end].to_owned();
        self.skip_to(end);
        text
    }

    /// A comment on the line of `-` that more of the sequence's content follows heads that content.
    pub(super) fn lift_entry_comment(&mut self) {
        let Some(comment) = self.comments.back() else { return };
        if comment.line.is_empty()
            || !self.recent(0).is_block_entry
            || !self.recent(1).is_block_sequence_start
            || self.is_break(0)
        {
            return;
        }
        let mark = self.mark();
        if let Some(comment) = self.comments.back_mut() {
            comment.head = std::mem::take(&mut comment.line);
            if comment.start.line + 1 == mark.line {
                comment.token = mark;
            }
        }
    }

    /// Reads the comment lines from here on.
    pub(super) fn scan_comments(&mut self, scan_mark: Mark) {
        let mut token = self.recent(0);
        if token.is_flow_entry {
            token = self.recent(1);
        }
        let here = self.mark();
        let newlines = self.newlines();
        let mut run = Run {
            scan: scan_mark,
            token: token.mark,
            start: Mark::default(),
            text: String::new(),
            line: here.line,
            column: here.column,
        };
        let mut recent_empty = false;
        let mut first_empty = newlines <= 1;
        // Where a comment must start to be the foot of what came before.
        let foot_line = (scan_mark.line > 0).then(|| {
            let below = usize::from(newlines == 0 && here.column > 1);
            (here.line + 1 + below).saturating_sub(newlines)
        });
        // A block of the document's own indentation counts like one at column zero.
        let indent = usize::try_from(self.indent).unwrap_or(0);
        let mut offset = 0;
        while offset < LOOK_AHEAD {
            run.column += 1;
            if self.is_blank(offset) {
                offset += 1;
                continue;
            }
            let is_dedented = |start: Mark| start.column < indent + 1;
            let closes_flow = self.flow_level > 0 && matches!(self.at(offset), b']' | b'}');
            if closes_flow || self.is_break_or_end(offset) {
                if closes_flow || !recent_empty {
                    let at_foot = Some(run.start.line) == foot_line && !token.is_value;
                    if closes_flow || (first_empty && (at_foot || is_dedented(run.start))) {
                        if !run.text.is_empty() {
                            if is_dedented(run.start) {
                                run.token = run.start;
                            }
                            self.end_foot(&mut run, offset);
                        }
                    } else if !run.text.is_empty() && !self.is_end(offset) {
                        run.text.push('\n');
                    }
                }
                if !self.is_break(offset) {
                    break;
                }
                first_empty = false;
                recent_empty = true;
                run.column = 0;
                run.line += 1;
                offset += 1;
                continue;
            }
            if !run.text.is_empty() && run.column < indent + 1 && run.column != run.start.column {
                self.end_foot(&mut run, offset);
            }
            if self.at(offset) != b'#' {
                break;
            }
            if run.text.is_empty() {
                run.start = self.ahead(&run, offset);
            } else {
                run.text.push('\n');
            }
            recent_empty = false;
            let comment = self.position + offset;
            while self.position < comment {
                if self.is_break(0) {
                    self.skip_line();
                } else {
                    self.position += 1;
                }
            }
            let text = self.read_comment();
            run.text.push_str(&text);
            run.column = 0;
            run.line = self.mark().line;
            // The break behind the comment is stepped over without being looked at.
            offset = 1;
        }
        if !run.text.is_empty() {
            let end = self.ahead(&run, offset);
            self.comments.push_back(Comment {
                scan: run.scan,
                token: run.start,
                start: run.start,
                end: Mark { index: end.index.saturating_sub(1), ..end },
                head: run.text,
                ..Comment::default()
            });
        }
    }

    /// The place `offset` bytes ahead, as far as a run of comments has counted.
    fn ahead(&self, run: &Run, offset: usize) -> Mark {
        Mark { index: self.mark().index + offset, line: run.line, column: run.column }
    }

    /// Ends a run of lines as the foot of what came before it.
    fn end_foot(&mut self, run: &mut Run, offset: usize) {
        let end = self.ahead(run, offset);
        self.comments.push_back(Comment {
            scan: run.scan,
            token: run.token,
            start: run.start,
            end,
            foot: std::mem::take(&mut run.text),
            ..Comment::default()
        });
        run.scan = end;
        run.token = end;
    }

    /// Where the block that ends now ends: before the recent comments of the block around it.
    pub(super) fn block_end_before_comments(&self, mark: Mark) -> Mark {
        let mut end = mark;
        let mut stop = mark.index;
        for comment in self.comments.iter().rev() {
            if comment.end.index < stop {
                break;
            }
            if comment.start.column.cast_signed() == self.indent + 1 {
                end = comment.start;
            }
            stop = comment.scan.index;
        }
        end
    }
}

/// A run of comment lines while it is read.
struct Run {
    scan: Mark,
    token: Mark,
    start: Mark,
    text: String,
    line: usize,
    column: usize,
}
