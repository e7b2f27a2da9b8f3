//! Parses tokens into events: the grammar of YAML 1.1 as a state machine.

mod collection;
mod comment;

use std::borrow::Cow;

use crate::Dialect;
use crate::error::Error;
use crate::input::Input;
use crate::node::{Comments, Position};
use crate::scanner::{Fault, Scanner};
use crate::token::{Mark, ScalarStyle, TokenKind};

/// One step through a stream.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub(crate) mark: Mark,
    pub(crate) comments: Option<Box<Comments>>,
    pub(crate) kind: EventKind<'a>,
}

/// What an event is.
#[derive(Debug)]
pub(crate) enum EventKind<'a> {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(&'a str),
    Scalar(Properties<'a>, Cow<'a, str>, ScalarStyle),
    SequenceStart { properties: Properties<'a>, flow: bool },
    SequenceEnd,
    MappingStart { properties: Properties<'a>, flow: bool },
    MappingEnd,
}

/// The anchor and the tag of a node; the tag in its long form.
#[derive(Debug, Default)]
pub(crate) struct Properties<'a> {
    pub(crate) anchor: Option<&'a str>,
    pub(crate) tag: Option<Cow<'a, str>>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    DocumentStart { implicit: bool },
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceEntry { first: bool },
    IndentlessSequenceEntry,
    BlockMappingKey { first: bool },
    BlockMappingValue,
    FlowSequenceEntry { first: bool },
    FlowSequenceEntryMappingKey,
    FlowSequenceEntryMappingValue,
    FlowSequenceEntryMappingEnd,
    FlowMappingKey { first: bool },
    FlowMappingValue { empty: bool },
    End,
}

/// What an expected node may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Flow,
    Block,
    /// A block node, or a sequence that is no deeper than the key in front of it.
    BlockOrIndentless,
}

/// The parser over one text.
pub(crate) struct Parser<'a> {
    scanner: Scanner<'a>,
    dialect: Dialect,
    state: State,
    states: Vec<State>,
    marks: Vec<Mark>,
    tag_directives: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The comments of the tokens since the last event that took them.
    comments: Comments,
    /// The head comment of the collection that starts next.
    stem: Option<String>,
}

const TAG_PREFIX: &str = "tag:yaml.org,2002:";

type Step<'a> = Result<Event<'a>, Fault>;

#[expect(clippy::unnecessary_wraps, reason = "every state ends in a step")]
fn event(mark: Mark, kind: EventKind<'_>) -> Step<'_> {
    Ok(Event { mark, comments: None, kind })
}

fn empty_scalar<'a>(mark: Mark) -> Step<'a> {
    let kind = EventKind::Scalar(Properties::default(), Cow::Borrowed(""), ScalarStyle::Plain);
    event(mark, kind)
}

impl<'a> Parser<'a> {
    pub(crate) fn new(input: &'a Input<'_>, dialect: Dialect) -> Self {
        Self {
            scanner: Scanner::new(input, dialect),
            dialect,
            state: State::DocumentStart { implicit: true },
            states: Vec::new(),
            marks: Vec::new(),
            tag_directives: Vec::new(),
            comments: Comments::default(),
            stem: None,
        }
    }

    /// The next event; after the end of the stream, that end again.
    pub(crate) fn next_event(&mut self) -> Result<Event<'a>, Error> {
        self.step().map_err(|fault| self.error(&fault))
    }

    /// The error go-yaml makes of `fault`: the two versions choose different lines.
    fn error(&self, fault: &Fault) -> Error {
        let fault = fault.detail();
        let shift = usize::from(fault.scanner);
        let line = match self.dialect {
            Dialect::V2 if fault.place.line != 0 => Some(fault.place.line + shift),
            Dialect::V2 if fault.context.line != 0 => Some(fault.context.line),
            Dialect::V3 if fault.context.line != 0 => Some(fault.context.line + shift),
            Dialect::V3 if fault.place.line != 0 => Some(fault.place.line + shift),
            _ => None,
        };
        // Where something was begun that does not end is the place to look; where only the end of the text
        // was met, go-yaml's line, the one before, is as good.
        let is_begun = fault.context != Mark::default() && fault.context != fault.place;
        let mark = match (is_begun, fault.scanner) {
            (true, _) => Some(fault.context),
            (false, true) => Some(fault.place),
            (false, false) => None,
        };
        let at = mark.map(|mark| Position { line: mark.line + 1, column: mark.column + 1 });
        Error::Syntax { line, problem: fault.problem.to_owned(), at }
    }

    fn step(&mut self) -> Step<'a> {
        match self.state {
            State::DocumentStart { implicit } => self.document_start(implicit),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(Expect::Block),
            State::BlockSequenceEntry { first } => self.block_sequence_entry(first),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingKey { first } => self.block_mapping_key(first),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceEntry { first } => self.flow_sequence_entry(first),
            State::FlowSequenceEntryMappingKey => self.flow_sequence_entry_mapping_key(),
            State::FlowSequenceEntryMappingValue => self.flow_sequence_entry_mapping_value(),
            State::FlowSequenceEntryMappingEnd => {
                let mark = self.peek()?.0;
                self.state = State::FlowSequenceEntry { first: false };
                event(mark, EventKind::MappingEnd)
            }
            State::FlowMappingKey { first } => self.flow_mapping_key(first),
            State::FlowMappingValue { empty } => self.flow_mapping_value(empty),
            State::End => event(Mark::default(), EventKind::StreamEnd),
        }
    }

    #[inline]
    fn peek(&mut self) -> Result<(Mark, &TokenKind<'a>), Fault> {
        self.scanner.ready()?;
        if !self.scanner.comments.is_empty() {
            let token = self.scanner.head();
            let is_end = matches!(token.kind, TokenKind::BlockEnd);
            self.take_comments(token.mark.index, is_end);
        }
        let token = self.scanner.head();
        Ok((token.mark, &token.kind))
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// Takes the token that opens a collection and remembers where it stood.
    fn open(&mut self) -> Result<(), Fault> {
        let mark = self.peek()?.0;
        self.marks.push(mark);
        self.scanner.take();
        Ok(())
    }

    fn fault(place: Mark, problem: &'static str) -> Fault {
        Fault::parser(Mark::default(), place, problem)
    }

    fn context_fault(&mut self, place: Mark, problem: &'static str) -> Fault {
        let context = self.marks.pop().unwrap_or_default();
        Fault::parser(context, place, problem)
    }

    // --- documents ------------------------------------------------------------------------------

    fn document_start(&mut self, implicit: bool) -> Step<'a> {
        if !implicit {
            while matches!(self.peek()?.1, TokenKind::DocumentEnd) {
                self.scanner.take();
            }
        }
        let (mark, kind) = self.peek()?;
        match kind {
            TokenKind::StreamEnd => {
                self.state = State::End;
                self.scanner.take();
                event(mark, EventKind::StreamEnd)
            }
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart => self.explicit_document(mark),
            _ if implicit => {
                self.directives()?;
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                let head = self.split_document_head();
                Self::event_with_head(mark, EventKind::DocumentStart, head)
            }
            _ => self.explicit_document(mark),
        }
    }

    fn explicit_document(&mut self, mark: Mark) -> Step<'a> {
        self.directives()?;
        let (place, kind) = self.peek()?;
        if !matches!(kind, TokenKind::DocumentStart) {
            return Err(Self::fault(place, "did not find expected <document start>"));
        }
        self.scanner.take();
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        event(mark, EventKind::DocumentStart)
    }

    fn directives(&mut self) -> Result<(), Fault> {
        let mut version_seen = false;
        loop {
            let (mark, kind) = self.peek()?;
            match kind {
                TokenKind::VersionDirective { .. } if version_seen => {
                    return Err(Self::fault(mark, "found duplicate %YAML directive"));
                }
                TokenKind::VersionDirective { major: 1, minor: 1 } => version_seen = true,
                TokenKind::VersionDirective { .. } => {
                    return Err(Self::fault(mark, "found incompatible YAML document"));
                }
                TokenKind::TagDirective { handle, prefix } => {
                    let (handle, prefix) = (Cow::Borrowed(*handle), prefix.clone());
                    if self.tag_directives.iter().any(|(known, _)| *known == handle) {
                        return Err(Self::fault(mark, "found duplicate %TAG directive"));
                    }
                    self.tag_directives.push((handle, prefix));
                }
                _ => break,
            }
            self.scanner.take();
        }
        for (handle, prefix) in [("!", "!"), ("!!", TAG_PREFIX)] {
            if self.tag_directives.iter().all(|(known, _)| known != handle) {
                self.tag_directives.push((handle.into(), prefix.into()));
            }
        }
        Ok(())
    }

    fn document_content(&mut self) -> Step<'a> {
        let (mark, kind) = self.peek()?;
        match kind {
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                self.pop_state();
                empty_scalar(mark)
            }
            _ => self.node(Expect::Block),
        }
    }

    fn document_end(&mut self) -> Step<'a> {
        let (mark, kind) = self.peek()?;
        if matches!(kind, TokenKind::DocumentEnd) {
            self.scanner.take();
        }
        self.tag_directives.clear();
        self.state = State::DocumentStart { implicit: false };
        let mut event = self.event(mark, EventKind::DocumentEnd)?;
        if let Some(comments) = &mut event.comments
            && comments.foot.is_empty()
        {
            comments.foot = std::mem::take(&mut comments.head);
        }
        Ok(event)
    }

    // --- nodes ----------------------------------------------------------------------------------

    fn properties(&mut self) -> Result<(Mark, Properties<'a>), Fault> {
        let start = self.peek()?.0;
        let mut properties = Properties::default();
        let mut tag_token = None;
        // An anchor and a tag may come in either order, each once.
        for _ in 0..2 {
            let (mark, kind) = self.peek()?;
            match kind {
                TokenKind::Anchor(name) if properties.anchor.is_none() => {
                    properties.anchor = Some(*name);
                }
                TokenKind::Tag { handle, suffix } if tag_token.is_none() => {
                    tag_token = Some((mark, *handle, suffix.clone()));
                }
                _ => break,
            }
            self.scanner.take();
        }
        // The token behind must be there before a bad handle is complained about.
        self.peek()?;
        if let Some((mark, handle, suffix)) = tag_token {
            let tag = if handle.is_empty() {
                suffix
            } else {
                let known = self.tag_directives.iter().find(|(known, _)| known == handle);
                let Some((_, prefix)) = known else {
                    let problem = "found undefined tag handle";
                    return Err(Fault::parser(start, mark, problem));
                };
                Cow::Owned(format!("{prefix}{suffix}"))
            };
            properties.tag = (!tag.is_empty()).then_some(tag);
        }
        Ok((start, properties))
    }

    fn node(&mut self, expect: Expect) -> Step<'a> {
        let (mark, kind) = self.peek()?;
        let (start, properties) = match kind {
            TokenKind::Alias(name) => {
                let name = *name;
                self.scanner.take();
                self.pop_state();
                return self.event(mark, EventKind::Alias(name));
            }
            TokenKind::Anchor(_) | TokenKind::Tag { .. } => self.properties()?,
            _ => (mark, Properties::default()),
        };
        let block = expect != Expect::Flow;
        let (place, kind) = self.peek()?;
        let (state, kind) = match kind {
            TokenKind::BlockEntry if expect == Expect::BlockOrIndentless => (
                State::IndentlessSequenceEntry,
                EventKind::SequenceStart { properties, flow: false },
            ),
            TokenKind::Scalar { .. } => {
                self.pop_state();
                let Some(TokenKind::Scalar { value, style }) =
                    self.scanner.take().map(|token| token.kind)
                else {
                    return empty_scalar(start);
                };
                return self.event(start, EventKind::Scalar(properties, value, style));
            }
            TokenKind::FlowSequenceStart => (
                State::FlowSequenceEntry { first: true },
                EventKind::SequenceStart { properties, flow: true },
            ),
            TokenKind::FlowMappingStart => (
                State::FlowMappingKey { first: true },
                EventKind::MappingStart { properties, flow: true },
            ),
            TokenKind::BlockSequenceStart if block => (
                State::BlockSequenceEntry { first: true },
                EventKind::SequenceStart { properties, flow: false },
            ),
            TokenKind::BlockMappingStart if block => (
                State::BlockMappingKey { first: true },
                EventKind::MappingStart { properties, flow: false },
            ),
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                self.pop_state();
                let kind = EventKind::Scalar(properties, Cow::Borrowed(""), ScalarStyle::Plain);
                return event(start, kind);
            }
            _ => {
                let problem = "did not find expected node content";
                return Err(Fault::parser(start, place, problem));
            }
        };
        self.state = state;
        match state {
            State::IndentlessSequenceEntry => event(start, kind),
            State::BlockSequenceEntry { .. } | State::BlockMappingKey { .. } => {
                Self::event_with_head(start, kind, self.stem.take())
            }
            _ => self.event(start, kind),
        }
    }

    fn node_then(&mut self, next: State, expect: Expect) -> Step<'a> {
        self.states.push(next);
        self.node(expect)
    }

    fn empty_then(&mut self, next: State, mark: Mark) -> Step<'a> {
        self.state = next;
        empty_scalar(mark)
    }

    fn close(&mut self, mark: Mark, kind: EventKind<'a>) -> Step<'a> {
        self.pop_state();
        self.marks.pop();
        self.scanner.take();
        self.event(mark, kind)
    }
}
