//! Operators between operands, and how tightly they bind.

use super::recovery::Set;
use super::{Nesting, Parser, missing};
use crate::ast::Expr;
use crate::lexer::Token;
use crate::source::Place;

impl Parser<'_> {
    /// Operands and the operators between them, from `||` to `*`.
    pub(super) fn binary(&mut self) -> Expr {
        let mut chain = Chain::default();
        loop {
            let relations = 1 + usize::from(chain.has_relation());
            let calculations = 1 + chain.calculations();
            let entered = self.enter(Nesting::Relation, relations).is_ok()
                & self.enter(Nesting::Calc, calculations).is_ok();
            self.follow.push((Set::OPERATORS, true));
            let operand = if entered { self.unary() } else { missing() };
            self.follow.pop();
            self.leave(Nesting::Relation, relations);
            self.leave(Nesting::Calc, calculations);
            chain.operands.push(operand);
            let Some(operator) = Operator::of(self.here()) else { break };
            let place = self.place();
            self.advance();
            self.reduce(&mut chain, operator.level);
            match operator.level {
                Level::Or => {
                    self.close_conjunction(&mut chain);
                    chain.or_places.push(place);
                }
                Level::And => {
                    chain.conjunction.extend(chain.operands.pop());
                    chain.and_places.push(place);
                }
                _ => chain.operators.push((operator, place)),
            }
        }
        self.reduce(&mut chain, Level::Or);
        self.close_conjunction(&mut chain);
        let places = std::mem::take(&mut chain.or_places);
        self.balanced("_||_", chain.disjunction, &places)
    }

    /// Joins the operands of all pending operators that bind at least as tightly as `level`.
    fn reduce(&mut self, chain: &mut Chain, level: Level) {
        while let Some((operator, place)) = chain.operators.pop_if(|(top, _)| top.level >= level) {
            let right = chain.operands.pop().unwrap_or_else(missing);
            let left = chain.operands.pop().unwrap_or_else(missing);
            let joined = self.call(place, operator.function, vec![left, right]);
            chain.operands.push(joined);
        }
    }

    fn close_conjunction(&mut self, chain: &mut Chain) {
        chain.conjunction.extend(chain.operands.pop());
        let terms = std::mem::take(&mut chain.conjunction);
        let places = std::mem::take(&mut chain.and_places);
        let joined = self.balanced("_&&_", terms, &places);
        chain.disjunction.push(joined);
    }

    /// Chains of one logical operator become balanced trees.
    fn balanced(&mut self, name: &str, mut terms: Vec<Expr>, places: &[Place]) -> Expr {
        if places.is_empty() {
            return terms.pop().unwrap_or_else(missing);
        }
        let mut terms: Vec<Option<Expr>> = terms.into_iter().map(Some).collect();
        self.balance(name, &mut terms, places, 0, places.len() - 1)
    }

    fn balance(
        &mut self,
        name: &str,
        terms: &mut [Option<Expr>],
        places: &[Place],
        low: usize,
        high: usize,
    ) -> Expr {
        let middle = (low + high).div_ceil(2);
        let mut take = |index: usize| terms.get_mut(index).and_then(Option::take);
        let left = if middle == low { take(middle).or_else(|| Some(missing())) } else { None };
        let right =
            if middle == high { take(middle + 1).or_else(|| Some(missing())) } else { None };
        let left = match left {
            Some(left) => left,
            None => self.balance(name, terms, places, low, middle - 1),
        };
        let right = match right {
            Some(right) => right,
            None => self.balance(name, terms, places, middle + 1, high),
        };
        self.call(places[middle], name, vec![left, right])
    }
}

/// How tightly an operator binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Relation,
    Sum,
    Product,
}

/// An operator between two operands.
#[derive(Clone, Copy)]
struct Operator {
    function: &'static str,
    level: Level,
}

impl Operator {
    fn of(token: Token) -> Option<Operator> {
        let (function, level) = match token {
            Token::Or => ("_||_", Level::Or),
            Token::And => ("_&&_", Level::And),
            Token::Less => ("_<_", Level::Relation),
            Token::LessEquals => ("_<=_", Level::Relation),
            Token::Greater => ("_>_", Level::Relation),
            Token::GreaterEquals => ("_>=_", Level::Relation),
            Token::Equals => ("_==_", Level::Relation),
            Token::NotEquals => ("_!=_", Level::Relation),
            Token::In => ("@in", Level::Relation),
            Token::Plus => ("_+_", Level::Sum),
            Token::Minus => ("_-_", Level::Sum),
            Token::Star => ("_*_", Level::Product),
            Token::Slash => ("_/_", Level::Product),
            Token::Percent => ("_%_", Level::Product),
            _ => return None,
        };
        Some(Operator { function, level })
    }
}

/// Operands and operators that wait for what comes after them.
#[derive(Default)]
struct Chain {
    operands: Vec<Expr>,
    operators: Vec<(Operator, Place)>,
    conjunction: Vec<Expr>,
    and_places: Vec<Place>,
    disjunction: Vec<Expr>,
    or_places: Vec<Place>,
}

impl Chain {
    fn has_relation(&self) -> bool {
        self.operators.iter().any(|(operator, _)| operator.level == Level::Relation)
    }

    fn calculations(&self) -> usize {
        self.operators.iter().filter(|(operator, _)| operator.level > Level::Relation).count()
    }
}
