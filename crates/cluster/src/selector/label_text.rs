//! The text form of label selectors, with upstream's parse errors.
//!
//! A lexer cuts the text into symbols, identifiers and the operators `in` and `notin`; a parser reads
//! requirements from them. Errors name the token that was found and what was expected.

use std::collections::BTreeSet;

use sluice_base::gojson::quote;
use sluice_schema::names;

use super::Requirement;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Identifier(String),
    In,
    NotIn,
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Identifier(identifier) => identifier,
            Self::In => "in",
            Self::NotIn => "notin",
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

/// Longer symbols first, so that `==` is not read as two.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
        let length = if let Some(symbol) = symbol {
            out.push(Token::Symbol(symbol));
            symbol.len()
        } else {
            let end = rest
                .find(|letter: char| letter.is_whitespace() || "=!(),><".contains(letter))
                .unwrap_or(rest.len());
            out.push(match &rest[..end] {
                "in" => Token::In,
                "notin" => Token::NotIn,
                identifier => Token::Identifier(identifier.to_owned()),
            });
            end
        };
        rest = rest[length..].trim_start();
    }
    out.push(Token::End);
    out
}

/// Parses the requirements, sorted by key as upstream keeps them.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let mut out = Vec::new();
    loop {
        match parser.peek() {
            Token::Identifier(_) | Token::In | Token::NotIn | Token::Symbol("!") => {
                let requirement = parser
                    .requirement()
                    .map_err(|why| format!("unable to parse requirement: {why}"))?;
                out.push(requirement);
                match parser.take() {
                    Token::End => return Ok(out),
                    Token::Symbol(",") => {
                        let next = parser.peek();
                        let fits = matches!(
                            next,
                            Token::Identifier(_) | Token::In | Token::NotIn | Token::Symbol("!")
                        );
                        if !fits {
                            return Err(format!(
                                "found '{}', expected: identifier after ','",
                                next.text()
                            ));
                        }
                    }
                    other => {
                        return Err(format!(
                            "found '{}', expected: ',' or 'end of string'",
                            other.text()
                        ));
                    }
                }
            }
            Token::End => return Ok(out),
            Token::Symbol(symbol) => {
                return Err(format!(
                    "found '{symbol}', expected: !, identifier, or 'end of string'"
                ));
            }
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.take();
        let absent = token == Token::Symbol("!");
        if absent {
            token = self.take();
        }
        let key = match token {
            Token::Identifier(identifier) => identifier,
            Token::In => "in".to_owned(),
            Token::NotIn => "notin".to_owned(),
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        check("key", &key, &names::label_key(&key))?;
        if absent {
            return Ok(Requirement::Absent(key));
        }
        match self.peek() {
            Token::End | Token::Symbol(",") => return Ok(Requirement::Exists(key)),
            _ => {}
        }
        match self.take() {
            Token::In => Ok(Requirement::In(key.clone(), self.set(&key)?)),
            Token::NotIn => Ok(Requirement::NotIn(key.clone(), self.set(&key)?)),
            Token::Symbol("=" | "==") => Ok(Requirement::In(key.clone(), vec![self.exact(&key)?])),
            Token::Symbol("!=") => Ok(Requirement::NotIn(key.clone(), vec![self.exact(&key)?])),
            Token::Symbol(">") => Ok(Requirement::Greater(key.clone(), self.number(&key)?)),
            Token::Symbol("<") => Ok(Requirement::Less(key.clone(), self.number(&key)?)),
            other => {
                Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text()))
            }
        }
    }

    /// The value after `=`; absent is the empty value.
    fn exact(&mut self, key: &str) -> Result<String, String> {
        let value = match self.peek() {
            Token::End | Token::Symbol(",") => String::new(),
            Token::Symbol(symbol) => {
                return Err(format!("found '{symbol}', expected: identifier"));
            }
            identifier => {
                self.at += 1;
                identifier.text().to_owned()
            }
        };
        check(&format!("values[0][{key}]"), &value, &names::label_value(&value))?;
        Ok(value)
    }

    fn number(&mut self, key: &str) -> Result<i64, String> {
        let value = self.exact(key)?;
        value.parse().map_err(|_| {
            format!(
                "values[0]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                quote(&value)
            )
        })
    }

    /// The values in parentheses.
    fn set(&mut self, key: &str) -> Result<Vec<String>, String> {
        match self.take() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.take() {
                Token::Symbol(")") => {
                    values.insert(String::new());
                    break;
                }
                Token::Symbol(",") => {
                    values.insert(String::new());
                    continue;
                }
                Token::Symbol(other) => {
                    return Err(format!("found '{other}', expected: ',', ')' or identifier"));
                }
                Token::End => {
                    return Err("found '', expected: ',', ')' or identifier".to_owned());
                }
                identifier => {
                    values.insert(identifier.text().to_owned());
                }
            }
            match self.take() {
                Token::Symbol(")") => break,
                Token::Symbol(",") => {}
                other => {
                    return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                }
            }
        }
        for (index, value) in values.iter().enumerate() {
            check(&format!("values[{index}][{key}]"), value, &names::label_value(value))?;
        }
        Ok(values.into_iter().collect())
    }
}

fn check(field: &str, value: &str, problems: &[String]) -> Result<(), String> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("{field}: Invalid value: {}: {}", quote(value), problems.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn complaints_are_upstreams() {
        let cases = [
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("n=a b c", "found 'b', expected: ',' or 'end of string'"),
            (
                "n within (1)",
                "unable to parse requirement: found 'within', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("a,", "found '', expected: identifier after ','"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap_err(), expected, "{text}");
        }
    }
}
