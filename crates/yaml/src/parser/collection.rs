//! Sequences and mappings, in block and in flow style.

use super::{EventKind, Expect, Parser, Properties, State, Step, event};
use crate::token::TokenKind;

impl<'a> Parser<'a> {
    // --- block collections ----------------------------------------------------------------------

    pub(super) fn block_sequence_entry(&mut self, first: bool) -> Step<'a> {
        if first {
            self.open()?;
        }
        let (mark, kind) = self.peek()?;
        match kind {
            TokenKind::BlockEntry => {
                self.take_block_entry()?;
                let next = State::BlockSequenceEntry { first: false };
                match self.peek()?.1 {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => {
                        self.empty_then(next, mark.next())
                    }
                    _ => self.node_then(next, Expect::Block),
                }
            }
            TokenKind::BlockEnd => {
                // Unlike all other ends, this one takes no comments.
                self.pop_state();
                self.marks.pop();
                self.scanner.take();
                event(mark, EventKind::SequenceEnd)
            }
            _ => Err(self.context_fault(mark, "did not find expected '-' indicator")),
        }
    }

    pub(super) fn indentless_sequence_entry(&mut self) -> Step<'a> {
        let (mark, kind) = self.peek()?;
        if !matches!(kind, TokenKind::BlockEntry) {
            self.pop_state();
            return event(mark, EventKind::SequenceEnd);
        }
        self.take_block_entry()?;
        let next = State::IndentlessSequenceEntry;
        match self.peek()?.1 {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.empty_then(next, mark.next())
            }
            _ => self.node_then(next, Expect::Block),
        }
    }

    pub(super) fn block_mapping_key(&mut self, first: bool) -> Step<'a> {
        if first {
            self.open()?;
        }
        let (mark, kind) = self.peek()?;
        match kind {
            TokenKind::Key => {
                self.scanner.take();
                match self.peek()?.1 {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                        self.empty_then(State::BlockMappingValue, mark.next())
                    }
                    _ => self.node_then(State::BlockMappingValue, Expect::BlockOrIndentless),
                }
            }
            TokenKind::BlockEnd => self.close(mark, EventKind::MappingEnd),
            _ => Err(self.context_fault(mark, "did not find expected key")),
        }
    }

    pub(super) fn block_mapping_value(&mut self) -> Step<'a> {
        let next = State::BlockMappingKey { first: false };
        let (mark, kind) = self.peek()?;
        if !matches!(kind, TokenKind::Value) {
            return self.empty_then(next, mark);
        }
        self.scanner.take();
        match self.peek()?.1 {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.empty_then(next, mark.next())
            }
            _ => self.node_then(next, Expect::BlockOrIndentless),
        }
    }

    // --- flow collections -----------------------------------------------------------------------

    pub(super) fn flow_sequence_entry(&mut self, first: bool) -> Step<'a> {
        if first {
            self.open()?;
        }
        let (mark, kind) = self.peek()?;
        if !matches!(kind, TokenKind::FlowSequenceEnd) && !first {
            if !matches!(kind, TokenKind::FlowEntry) {
                return Err(self.context_fault(mark, "did not find expected ',' or ']'"));
            }
            self.scanner.take();
        }
        let (mark, kind) = self.peek()?;
        match kind {
            TokenKind::FlowSequenceEnd => self.close(mark, EventKind::SequenceEnd),
            TokenKind::Key => {
                self.scanner.take();
                self.state = State::FlowSequenceEntryMappingKey;
                let properties = Properties::default();
                event(mark, EventKind::MappingStart { properties, flow: true })
            }
            _ => self.node_then(State::FlowSequenceEntry { first: false }, Expect::Flow),
        }
    }

    pub(super) fn flow_sequence_entry_mapping_key(&mut self) -> Step<'a> {
        let next = State::FlowSequenceEntryMappingValue;
        let (mark, kind) = self.peek()?;
        match kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                // go-yaml drops the token here, and then misses it.
                self.scanner.take();
                self.empty_then(next, mark.next())
            }
            _ => self.node_then(next, Expect::Flow),
        }
    }

    pub(super) fn flow_sequence_entry_mapping_value(&mut self) -> Step<'a> {
        let next = State::FlowSequenceEntryMappingEnd;
        let (mark, kind) = self.peek()?;
        if matches!(kind, TokenKind::Value) {
            self.scanner.take();
            let kind = self.peek()?.1;
            if !matches!(kind, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                return self.node_then(next, Expect::Flow);
            }
        }
        self.empty_then(next, mark)
    }

    pub(super) fn flow_mapping_key(&mut self, first: bool) -> Step<'a> {
        if first {
            self.open()?;
        }
        let (mark, kind) = self.peek()?;
        if !matches!(kind, TokenKind::FlowMappingEnd) && !first {
            if !matches!(kind, TokenKind::FlowEntry) {
                return Err(self.context_fault(mark, "did not find expected ',' or '}'"));
            }
            self.scanner.take();
        }
        let (mark, kind) = self.peek()?;
        match kind {
            TokenKind::FlowMappingEnd => self.close(mark, EventKind::MappingEnd),
            TokenKind::Key => {
                self.scanner.take();
                let next = State::FlowMappingValue { empty: false };
                let (mark, kind) = self.peek()?;
                match kind {
                    TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                        self.empty_then(next, mark)
                    }
                    _ => self.node_then(next, Expect::Flow),
                }
            }
            _ => self.node_then(State::FlowMappingValue { empty: true }, Expect::Flow),
        }
    }

    pub(super) fn flow_mapping_value(&mut self, empty: bool) -> Step<'a> {
        let next = State::FlowMappingKey { first: false };
        let (mut mark, kind) = self.peek()?;
        if !empty && matches!(kind, TokenKind::Value) {
            self.scanner.take();
            let (place, kind) = self.peek()?;
            if !matches!(kind, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                return self.node_then(next, Expect::Flow);
            }
            mark = place;
        }
        self.empty_then(next, mark)
    }
}
