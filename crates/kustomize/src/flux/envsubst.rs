//! Variables in a text, in the grammar of `github.com/fluxcd/pkg/envsubst` 1.7.1.
//!
//! | form | means |
//! |---|---|
//! | `${v}` | the value |
//! | `${#v}` | its length in bytes |
//! | `${v^}` `${v^^}` `${v,}` `${v,,}` | first letter or all letters in upper or lower case |
//! | `${v:n}` `${v:n:m}` | bytes from `n`, `m` of them; negative numbers count from the end |
//! | `${v#p}` `${v##p}` `${v%p}` `${v%%p}` | without the shortest or longest start or end that a pattern matches |
//! | `${v/a/b}` `${v//a/b}` `${v/#a/b}` `${v/%a/b}` | the first, every, a leading or a trailing `a` becomes `b` |
//! | `${v=d}` `${v:=d}` `${v:-d}` `${v:?d}` `${v:+d}` | `d` where the value is empty or missing |
//! | `$$` | one dollar sign, outside of braces and in the parts of a replacement |
//!
//! What looks odd is upstream's, and kept: offsets and lengths are bytes, so a value can be cut in the
//! middle of a letter; a number that is none gives the whole value (`${v: -1}`); `${v-d}` is an error;
//! `:?` and `:+` are defaults; a default is evaluated even where it is not used; in the pattern of `%`
//! everything is reversed, brackets too; a zero byte ends the text.
//!
//! [`Dialect::Exact`] has none of these oddities: positions and lengths are characters; `${v: -1}` is the
//! last one, and what is no number an error; `${v-d}` is `d` where there is no such variable; `:?` is an
//! error and `:+` is `d` where there is a value; what is not used is not evaluated; the pattern of `%` is
//! read as it is written.
//!
//! Not upstream's: [nesting](MAX_DEPTH), [output](MAX_OUTPUT) and the work of matching patterns are
//! bounded, and offsets beyond 2⁶³ are past the end, where upstream panics.

mod exact;
mod functions;
mod letters;
mod parse;
mod pattern;
mod scan;

pub(crate) use functions::Budget;
use parse::{Node, Operator};

/// How deep substitutions may stand inside each other.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many bytes one text may become, with all that is made on the way.
pub(crate) const MAX_OUTPUT: usize = 32 << 20;

/// Why a text could not be evaluated, with the place of the substitution that is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct EnvsubstError {
    /// What is wrong.
    pub reason: Envsubst,
    /// Where its `${` stands, in bytes.
    pub offset: usize,
}

/// What can be wrong with a text, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Envsubst {
    /// An operator is not written as it must be.
    #[error("bad substitution")]
    BadSubstitution,
    /// Something other than an operator or `}` follows the name.
    #[error("missing closing brace")]
    MissingClosingBrace,
    /// No name follows `${`.
    #[error("unable to parse variable name")]
    VariableName,
    /// An argument of an operator is missing or does not end.
    #[error("unable to parse substitution within function")]
    Argument,
    /// There is no such variable, and it must be there.
    #[error("variable not set (strict mode): \"{0}\"")]
    NotSet(String),
    /// A variable is missing or empty that `:?` wants, and what is written behind that.
    #[error("variable not set or empty: \"{0}\"{1}")]
    Required(String, String),
    /// A position or a length is no number.
    #[error("a position or length of \"{0}\" is not a number")]
    NotANumber(String),
    /// Substitutions stand too deep inside each other.
    #[error("substitutions are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// The result or what is made on the way is too large.
    #[error("substitution makes more than {MAX_OUTPUT} bytes")]
    TooLarge,
    /// A pattern needs too many steps.
    #[error("matching the pattern takes too long")]
    TooLong,
}

/// How the operators are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dialect {
    /// As upstream does, oddities included.
    #[default]
    Flux,
    /// As the documentation of shells says, in characters.
    Exact,
}

/// What a variable that is not there counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// An error, unless the substitution has a default.
    Error,
    /// An empty value.
    Empty,
}

/// A text with substitutions, ready to be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template<'t> {
    nodes: Vec<Node<'t>>,
    dialect: Dialect,
}

impl<'t> Template<'t> {
    /// Reads a text.
    pub fn parse(text: &'t [u8]) -> Result<Self, EnvsubstError> {
        Self::parse_as(text, Dialect::Flux)
    }

    /// Reads a text in a dialect.
    pub(crate) fn parse_as(text: &'t [u8], dialect: Dialect) -> Result<Self, EnvsubstError> {
        Ok(Self { nodes: parse::parse(text, dialect)?, dialect })
    }

    /// Whether there is anything to substitute.
    pub(crate) fn has_substitutions(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Call(_)))
    }

    /// The text with the variables' values in it; bytes, since values can be cut anywhere.
    pub fn evaluate<'v>(
        &self,
        missing: Missing,
        value_of: impl Fn(&str) -> Option<&'v [u8]>,
    ) -> Result<Vec<u8>, EnvsubstError> {
        self.evaluate_within(&mut Budget::default(), missing, value_of)
    }

    /// The same, for several texts that share their bounds.
    pub(crate) fn evaluate_within<'v>(
        &self,
        budget: &mut Budget,
        missing: Missing,
        value_of: impl Fn(&str) -> Option<&'v [u8]>,
    ) -> Result<Vec<u8>, EnvsubstError> {
        let mut evaluation = Evaluation { missing, value_of, budget, dialect: self.dialect };
        let mut out = Vec::new();
        for node in &self.nodes {
            evaluation.append(node, &mut out)?;
        }
        Ok(out)
    }
}

struct Evaluation<'b, F> {
    missing: Missing,
    value_of: F,
    budget: &'b mut Budget,
    dialect: Dialect,
}

impl<'v, F: Fn(&str) -> Option<&'v [u8]>> Evaluation<'_, F> {
    fn append(&mut self, node: &Node<'_>, out: &mut Vec<u8>) -> Result<(), EnvsubstError> {
        let call = match node {
            Node::Text(text) => {
                out.extend_from_slice(text);
                return Ok(());
            }
            Node::Call(call) => call,
        };
        if self.dialect == Dialect::Exact
            && let Some(choice) = self.choice(call)?
        {
            return match choice {
                Choice::Value(value) => {
                    let paid = self.budget.bytes(value.len());
                    paid.map_err(|reason| EnvsubstError { reason, offset: call.offset })?;
                    out.extend_from_slice(value);
                    Ok(())
                }
                Choice::Word => call.arguments.iter().try_for_each(|part| self.append(part, out)),
                Choice::Nothing => Ok(()),
            };
        }
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            let mut text = Vec::new();
            self.append(argument, &mut text)?;
            arguments.push(text);
        }
        let fail = |reason| EnvsubstError { reason, offset: call.offset };
        let value = match (self.value_of)(&call.name) {
            Some(value) => value,
            None if self.missing == Missing::Empty || call.operator == Operator::Default => b"",
            None => return Err(fail(Envsubst::NotSet(call.name.to_string()))),
        };
        let result = match self.dialect {
            Dialect::Flux => functions::apply(call.operator, value, &arguments, self.budget),
            Dialect::Exact => exact::apply(call, value, &arguments, self.budget),
        };
        out.extend_from_slice(&result.map_err(fail)?);
        Ok(())
    }
}

/// What a substitution with a word comes to.
enum Choice<'v> {
    Value(&'v [u8]),
    Word,
    Nothing,
}

impl<'v, F: Fn(&str) -> Option<&'v [u8]>> Evaluation<'_, F> {
    /// What an operator with a word takes, which alone is then evaluated; nothing where it is another
    /// operator.
    fn choice(&self, call: &parse::Call<'_>) -> Result<Option<Choice<'v>>, EnvsubstError> {
        let given = (self.value_of)(&call.name);
        let filled = given.filter(|value| !value.is_empty());
        Ok(Some(match call.operator {
            Operator::Default => filled.map_or(Choice::Word, Choice::Value),
            Operator::DefaultIfUnset => given.map_or(Choice::Word, Choice::Value),
            Operator::Alternative => filled.map_or(Choice::Nothing, |_| Choice::Word),
            Operator::Required => {
                let missing = || Envsubst::Required(call.name.to_string(), exact::said(call));
                let fail = || EnvsubstError { reason: missing(), offset: call.offset };
                Choice::Value(filled.ok_or_else(fail)?)
            }
            _ => return Ok(None),
        }))
    }
}

#[cfg(test)]
mod tests;
