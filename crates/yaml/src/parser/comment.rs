//! Assigns the comments of tokens to events.

use super::{Event, EventKind, Parser, Step};
use crate::node::Comments;
use crate::scanner::Fault;
use crate::token::{Mark, TokenKind};

impl<'a> Parser<'a> {
    /// Takes the comments that belong to the token at `index` or to one before it.
    pub(super) fn take_comments(&mut self, index: usize, is_end: bool) {
        while let Some(comment) = self.scanner.comments.front() {
            // An end has no head; that comment waits for what follows.
            if index < comment.token.index || (is_end && !comment.head.is_empty()) {
                break;
            }
            for (text, mine) in [
                (&comment.head, &mut self.comments.head),
                (&comment.foot, &mut self.comments.foot),
                (&comment.line, &mut self.comments.line),
            ] {
                if !text.is_empty() && !mine.is_empty() {
                    mine.push('\n');
                }
                mine.push_str(text);
            }
            self.scanner.comments.pop_front();
        }
    }

    /// An event that takes the comments so far.
    #[expect(clippy::unnecessary_wraps, reason = "every state ends in a step")]
    pub(super) fn event(&mut self, mark: Mark, kind: EventKind<'a>) -> Step<'a> {
        self.stem = None;
        let waiting = &self.comments;
        let none = waiting.head.is_empty() && waiting.line.is_empty() && waiting.foot.is_empty();
        let comments = (!none).then(|| Box::new(std::mem::take(&mut self.comments)));
        Ok(Event { mark, comments, kind })
    }

    /// An event that has a head comment only.
    #[expect(clippy::unnecessary_wraps, reason = "every state ends in a step")]
    pub(super) fn event_with_head(
        mark: Mark,
        kind: EventKind<'a>,
        head: Option<String>,
    ) -> Step<'a> {
        let comments = head
            .filter(|head| !head.is_empty())
            .map(|head| Box::new(Comments { head, ..Comments::default() }));
        Ok(Event { mark, comments, kind })
    }

    /// Steps over `-`. When a block collection follows, the comments above belong to it as a whole
    /// and not to its first item.
    pub(super) fn take_block_entry(&mut self) -> Result<(), Fault> {
        let stem_length = self.comments.head.len();
        self.scanner.take();
        if stem_length > 0
            && matches!(
                self.peek()?.1,
                TokenKind::BlockSequenceStart | TokenKind::BlockMappingStart
            )
        {
            let rest = self.comments.head.split_off(stem_length);
            let rest = rest.strip_prefix('\n').unwrap_or(&rest).to_owned();
            self.stem = Some(std::mem::replace(&mut self.comments.head, rest));
        }
        Ok(())
    }

    /// The part of the head comment that an empty line sets apart from the content.
    pub(super) fn split_document_head(&mut self) -> Option<String> {
        let head = &mut self.comments.head;
        let (end, rest) = match head.strip_suffix('\n') {
            Some(whole) if !whole.is_empty() => (whole.len(), head.len()),
            _ => head.rfind("\n\n").map(|gap| (gap, gap + 2))?,
        };
        let rest = head.split_off(rest);
        head.truncate(end);
        Some(std::mem::replace(head, rest))
    }
}
