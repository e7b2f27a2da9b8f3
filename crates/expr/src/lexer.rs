//! The lexer, with the errors and the recovery of cel-go's generated one.

use crate::source::{Issues, Place, Source};

/// The kinds of tokens, in the order in which the grammar numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Token {
    /// `==`
    Equals,
    /// `!=`
    NotEquals,
    /// `in`
    In,
    /// `<`
    Less,
    /// `<=`
    LessEquals,
    /// `>=`
    GreaterEquals,
    /// `>`
    Greater,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `[`
    LeftBracket,
    /// `]`
    RightBracket,
    /// `{`
    LeftBrace,
    /// `}`
    RightBrace,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `.`
    Dot,
    /// `,`
    Comma,
    /// `-`
    Minus,
    /// `!`
    Not,
    /// `?`
    Question,
    /// `:`
    Colon,
    /// `+`
    Plus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
    /// A floating point literal.
    Float,
    /// An integer literal.
    Int,
    /// An unsigned literal.
    Uint,
    /// A string literal.
    String,
    /// A bytes literal.
    Bytes,
    /// A name.
    Identifier,
    /// A name in backticks.
    EscapedIdentifier,
    /// The end.
    End,
}

impl Token {
    /// The token as an "expecting" list names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Token::Equals => "'=='",
            Token::NotEquals => "'!='",
            Token::In => "'in'",
            Token::Less => "'<'",
            Token::LessEquals => "'<='",
            Token::GreaterEquals => "'>='",
            Token::Greater => "'>'",
            Token::And => "'&&'",
            Token::Or => "'||'",
            Token::LeftBracket => "'['",
            Token::RightBracket => "']'",
            Token::LeftBrace => "'{'",
            Token::RightBrace => "'}'",
            Token::LeftParen => "'('",
            Token::RightParen => "')'",
            Token::Dot => "'.'",
            Token::Comma => "','",
            Token::Minus => "'-'",
            Token::Not => "'!'",
            Token::Question => "'?'",
            Token::Colon => "':'",
            Token::Plus => "'+'",
            Token::Star => "'*'",
            Token::Slash => "'/'",
            Token::Percent => "'%'",
            Token::True => "'true'",
            Token::False => "'false'",
            Token::Null => "'null'",
            Token::Float => "NUM_FLOAT",
            Token::Int => "NUM_INT",
            Token::Uint => "NUM_UINT",
            Token::String => "STRING",
            Token::Bytes => "BYTES",
            Token::Identifier => "IDENTIFIER",
            Token::EscapedIdentifier => "ESC_IDENTIFIER",
            Token::End => "<EOF>",
        }
    }
}

/// A token and the characters it spans.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spanned {
    /// The kind.
    pub(crate) token: Token,
    /// The offset of the first character.
    pub(crate) start: usize,
    /// The offset after the last character.
    pub(crate) end: usize,
}

/// What the longest match at an offset came to.
enum Match {
    Token(Token, usize),
    Hidden(usize),
    /// No rule matched; the offset is the character at which the last rule gave up.
    Failed(usize),
}

/// All tokens of a source, the last of them [`Token::End`], and what is none.
pub(crate) fn tokenize(
    source: &Source,
    issues: &mut Issues,
) -> (Vec<Spanned>, Vec<std::ops::Range<usize>>) {
    let text = &source.text;
    let mut tokens = Vec::new();
    let mut unreadable = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match longest(text, at) {
            Match::Token(token, end) => {
                tokens.push(Spanned { token, start: at, end });
                at = end;
            }
            Match::Hidden(end) => at = end,
            Match::Failed(stop) => {
                let shown: String = text[at..(stop + 1).min(text.len())].iter().collect();
                issues.report(
                    Place::At(at),
                    format!("Syntax error: token recognition error at: '{shown}'"),
                );
                unreadable.push(at..(stop + 1).min(text.len()));
                at = stop + 1;
            }
        }
    }
    tokens.push(Spanned { token: Token::End, start: text.len(), end: text.len() });
    (tokens, unreadable)
}

fn longest(text: &[char], at: usize) -> Match {
    let next = |ahead: usize| text.get(at + ahead).copied();
    let two = |second: char, long: Token, short: Option<Token>| match (next(1), short) {
        (Some(c), _) if c == second => Match::Token(long, at + 2),
        (_, Some(short)) => Match::Token(short, at + 1),
        (_, None) => Match::Failed(at + 1),
    };
    match text[at] {
        '=' => two('=', Token::Equals, None),
        '!' => two('=', Token::NotEquals, Some(Token::Not)),
        '<' => two('=', Token::LessEquals, Some(Token::Less)),
        '>' => two('=', Token::GreaterEquals, Some(Token::Greater)),
        '&' => two('&', Token::And, None),
        '|' => two('|', Token::Or, None),
        '[' => Match::Token(Token::LeftBracket, at + 1),
        ']' => Match::Token(Token::RightBracket, at + 1),
        '{' => Match::Token(Token::LeftBrace, at + 1),
        '}' => Match::Token(Token::RightBrace, at + 1),
        '(' => Match::Token(Token::LeftParen, at + 1),
        ')' => Match::Token(Token::RightParen, at + 1),
        ',' => Match::Token(Token::Comma, at + 1),
        '-' => Match::Token(Token::Minus, at + 1),
        '?' => Match::Token(Token::Question, at + 1),
        ':' => Match::Token(Token::Colon, at + 1),
        '+' => Match::Token(Token::Plus, at + 1),
        '*' => Match::Token(Token::Star, at + 1),
        '%' => Match::Token(Token::Percent, at + 1),
        '/' if next(1) == Some('/') => {
            let line = text[at..].iter().position(|&c| c == '\n');
            Match::Hidden(line.map_or(text.len(), |length| at + length))
        }
        '/' => Match::Token(Token::Slash, at + 1),
        ' ' | '\t' | '\r' | '\n' | '\u{c}' => {
            let blank = |c: &char| matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{c}');
            Match::Hidden(at + text[at..].iter().take_while(|c| blank(c)).count())
        }
        '.' if next(1).is_some_and(|c| c.is_ascii_digit()) => number(text, at),
        '.' => Match::Token(Token::Dot, at + 1),
        '0'..='9' => number(text, at),
        '"' | '\'' => string(text, at, at, false, Token::String),
        '`' => escaped(text, at),
        'A'..='Z' | 'a'..='z' | '_' => word(text, at),
        _ => Match::Failed(at),
    }
}

fn digits(text: &[char], from: usize) -> usize {
    from + text[from.min(text.len())..].iter().take_while(|c| c.is_ascii_digit()).count()
}

fn number(text: &[char], at: usize) -> Match {
    let is = |offset: usize, set: &[char]| text.get(offset).is_some_and(|c| set.contains(c));
    if text[at] == '0' && is(at + 1, &['x']) {
        let end = at + 2 + text[at + 2..].iter().take_while(|c| c.is_ascii_hexdigit()).count();
        if end > at + 2 {
            return if is(end, &['u', 'U']) {
                Match::Token(Token::Uint, end + 1)
            } else {
                Match::Token(Token::Int, end)
            };
        }
    }
    let whole = digits(text, at);
    let mut end = whole;
    let mut float = false;
    if is(whole, &['.']) {
        let fraction = digits(text, whole + 1);
        if fraction > whole + 1 {
            (end, float) = (fraction, true);
        }
    }
    if is(end, &['e', 'E']) {
        let sign = usize::from(is(end + 1, &['+', '-']));
        let exponent = digits(text, end + 1 + sign);
        if exponent > end + 1 + sign {
            (end, float) = (exponent, true);
        }
    }
    if float {
        Match::Token(Token::Float, end)
    } else if is(end, &['u', 'U']) {
        Match::Token(Token::Uint, end + 1)
    } else {
        Match::Token(Token::Int, end)
    }
}

fn word(text: &[char], at: usize) -> Match {
    let end =
        at + text[at..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
    let quote = |offset: usize| text.get(offset).is_some_and(|c| matches!(c, '"' | '\''));
    // A string's prefix is only one if the whole string follows; otherwise it is a name.
    let prefixed = match text[at] {
        'r' | 'R' if quote(at + 1) => Some(string(text, at, at + 1, true, Token::String)),
        'b' | 'B' if quote(at + 1) => Some(string(text, at, at + 1, false, Token::Bytes)),
        'b' | 'B' if matches!(text.get(at + 1), Some('r' | 'R')) && quote(at + 2) => {
            Some(string(text, at, at + 2, true, Token::Bytes))
        }
        _ => None,
    };
    if let Some(Match::Token(token, end)) = prefixed {
        return Match::Token(token, end);
    }
    let token = match text[at..end].iter().collect::<String>().as_str() {
        "in" => Token::In,
        "true" => Token::True,
        "false" => Token::False,
        "null" => Token::Null,
        _ => Token::Identifier,
    };
    Match::Token(token, end)
}

fn escaped(text: &[char], at: usize) -> Match {
    let inside = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ');
    let end = at + 1 + text[at + 1..].iter().take_while(|c| inside(c)).count();
    if end > at + 1 && text.get(end) == Some(&'`') {
        Match::Token(Token::EscapedIdentifier, end + 1)
    } else {
        Match::Failed(end)
    }
}

/// A string with its opening quote at `open`; both the short and the triple form are tried.
fn string(text: &[char], start: usize, open: usize, raw: bool, token: Token) -> Match {
    let quote = text[open];
    let short = body(text, open + 1, raw, |at| (text[at] == quote).then_some(at + 1), true);
    let triple_at = |at: usize| text[at..].starts_with(&[quote, quote, quote]);
    let triple = triple_at(open)
        .then(|| body(text, open + 3, raw, |at| triple_at(at).then_some(at + 3), false));
    match (short, triple) {
        (_, Some(Ok(end))) | (Ok(end), _) => Match::Token(token, end),
        (Err(one), Some(Err(other))) => Match::Failed(one.max(other)),
        (Err(stop), None) => Match::Failed(stop.max(start)),
    }
}

/// Characters up to the closing quotes, or the offset at which no rule goes on.
fn body(
    text: &[char],
    from: usize,
    raw: bool,
    close: impl Fn(usize) -> Option<usize>,
    one_line: bool,
) -> Result<usize, usize> {
    let mut at = from;
    while at < text.len() {
        if let Some(end) = close(at) {
            return Ok(end);
        }
        match text[at] {
            '\n' | '\r' if one_line => return Err(at),
            '\\' if !raw => at = escape(text, at + 1)?,
            _ => at += 1,
        }
    }
    Err(text.len())
}

fn escape(text: &[char], at: usize) -> Result<usize, usize> {
    let all = |from: usize, count: usize, fits: fn(char) -> bool| {
        for offset in from..from + count {
            if !text.get(offset).is_some_and(|&c| fits(c)) {
                return Err(offset);
            }
        }
        Ok(from + count)
    };
    let hexadecimal: fn(char) -> bool = |c| c.is_ascii_hexdigit();
    match text.get(at) {
        Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => Ok(at + 1),
        Some('x' | 'X') => all(at + 1, 2, hexadecimal),
        Some('u') => all(at + 1, 4, hexadecimal),
        Some('U') => all(at + 1, 8, hexadecimal),
        Some('0'..='3') => all(at + 1, 2, |c| matches!(c, '0'..='7')),
        _ => Err(at),
    }
}
