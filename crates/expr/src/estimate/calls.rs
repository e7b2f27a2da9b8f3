//! The estimated cost of calls.

use super::{Argument, Entry, Estimator, Range};
use crate::ast::{Expr, Kind};
use crate::checker::Reference;
use crate::types::Type;
use crate::value::Value;

/// Reading one character of a text.
const TEXT: f64 = 0.1;
/// Trying one character of a pattern.
const PATTERN: f64 = 0.25;
/// The longest pattern of a named format.
const FORMAT_PATTERN: f64 = 128.0;

/// A cost, and the size of the result if the call says something about it.
type Call = (Range, Option<Range>);

impl Estimator<'_> {
    pub(super) fn call(&mut self, expr: &Expr) -> Range {
        let Kind::Call { target, args, .. } = &expr.kind else { return Range::ZERO };
        let Some(Reference::Function { name, member, overloads }) =
            self.checked.references[expr.id].clone()
        else {
            return Range::ZERO;
        };
        if name == "dyn" {
            let cost = self.cost(&args[0]);
            self.copy(expr, &args[0]);
            return cost.plus(Range::ONE);
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(arg));
            arguments.push(self.argument(arg));
        }
        let mut total = Range::ZERO;
        let mut receiver = None;
        if let Some(target) = target.as_deref().filter(|_| member) {
            total = self.cost(target);
            receiver = Some(self.argument(target));
        }
        let mut spent = Range::NOTHING;
        let mut size: Option<Range> = None;
        for overload in &overloads {
            let function = (name, *overload);
            let (cost, result) =
                self.overload(expr, function, receiver.as_ref(), &arguments, &costs);
            spent = spent.union(cost);
            if let Some(result) = result {
                size = Some(size.map_or(result, |known| known.union(result)));
            }
            let element = match *overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(step), Some(first)) = (element, args.first()) {
                size = self.entry(first).map(|entry| entry.value);
                let path = self.step(first, step);
                self.paths.insert(expr.id, path);
            }
            if size.is_none() {
                size = self.size(expr);
            }
        }
        self.set(expr, size);
        total.plus(spent)
    }

    fn argument<'x>(&mut self, expr: &'x Expr) -> Argument<'x> {
        let path = self.path(expr);
        Argument { path, declared: self.type_of(expr).clone(), size: self.size(expr), expr }
    }

    /// The size of an argument, from itself or from the schema.
    fn sized(&self, argument: &Argument) -> Range {
        argument.size.or_else(|| self.size_at(&argument.path)).unwrap_or(Range::UNKNOWN)
    }

    /// The type and size of a list's elements.
    fn element(&self, list: &Argument) -> Option<(Type, Range)> {
        let element = (*list.declared.parameters().first()?).clone();
        let mut path = list.path.clone();
        let size = if path.is_empty() {
            None
        } else {
            path.push("@items".to_owned());
            self.size_at(&path)
        };
        Some((element, size.unwrap_or(Range::UNKNOWN)))
    }

    fn overload(
        &mut self,
        expr: &Expr,
        (function, overload): (&str, &str),
        target: Option<&Argument>,
        args: &[Argument],
        costs: &[Range],
    ) -> Call {
        let given = costs.iter().fold(Range::ZERO, |sum, cost| sum.plus(*cost));
        let special = self
            .list_function(overload, target, args)
            .or_else(|| self.library(function, overload, target, args));
        if let Some((cost, size)) = special {
            return (cost.plus(given), size);
        }
        self.standard(expr, overload, target, args, costs).map_or_else(
            || (Range::ONE.plus(given), None),
            |(cost, size, with_arguments)| {
                (if with_arguments { cost.plus(given) } else { cost }, size)
            },
        )
    }

    /// The later functions on lists, and sets.
    fn list_function(
        &self,
        overload: &str,
        target: Option<&Argument>,
        args: &[Argument],
    ) -> Option<Call> {
        let allocating = |factor: f64, size: Range| {
            Some((size.scaled(factor).plus(Range::fixed(11)), Some(size)))
        };
        let number = |argument: &Argument, otherwise: u64| match &argument.expr.kind {
            Kind::Literal(Value::Int(value)) => u64::try_from(*value).unwrap_or(0),
            _ => otherwise,
        };
        let squared = |size: Range, textual: bool| {
            allocating(if textual { 2.0 + TEXT } else { 2.0 }, size.times(size))
        };
        let textual = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
        match overload {
            "list_slice" => {
                let most = self.sized(target?).max;
                let (start, end) = (number(&args[0], 0), number(&args[1], most));
                allocating(1.0, Range::fixed(end.wrapping_sub(start)))
            }
            "list_flatten" | "list_flatten_int" => {
                let depth = args.first().map_or(1, |depth| number(depth, u64::MAX));
                #[expect(clippy::cast_precision_loss, reason = "a factor need not be exact")]
                allocating(depth as f64, self.sized(target?))
            }
            "lists_range" => allocating(1.0, Range::fixed(number(&args[0], u64::MAX))),
            "list_reverse" => allocating(1.0, self.sized(target?)),
            "list_distinct" => squared(self.sized(target?), false),
            _ if overload.ends_with("_sort") => squared(self.sized(target?), textual),
            _ if overload.ends_with("_sortByAssociatedKeys") => {
                squared(self.sized(&args[0]), textual)
            }
            "list_sets_contains_list" | "list_sets_intersects_list" => {
                let pairs = self.sized(&args[0]).times(self.sized(&args[1]));
                Some((pairs.scaled(1.0).plus(Range::ONE), None))
            }
            "list_sets_equivalent_list" => {
                let pairs = self.sized(&args[0]).times(self.sized(&args[1]));
                Some((pairs.scaled(2.0).plus(Range::ONE), None))
            }
            _ => None,
        }
    }

    /// Kubernetes' own functions, and those with a cost that Kubernetes decides.
    fn library(
        &self,
        function: &str,
        overload: &str,
        target: Option<&Argument>,
        args: &[Argument],
    ) -> Option<Call> {
        let plain = |cost: Range| Some((cost, None));
        let read = |argument: &Argument| self.sized(argument).scaled(TEXT);
        // Addresses have four or sixteen bytes.
        let address = Range { min: 4, max: 16 };
        match function {
            "check" => plain(Range::fixed(350_000)),
            "fieldSelector" | "labelSelector" => {
                let size = self.sized(args.first()?);
                let requirements = size.scaled(0.5).scaled(50.0);
                plain(Range::fixed(10).plus(size.scaled(TEXT)).plus(requirements))
            }
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                let target = target?;
                let Some((element, size)) = self.element(target) else {
                    return plain(read(target));
                };
                let mut each = Range::ONE;
                if matches!(element, Type::String | Type::Bytes) {
                    each = each.plus(size.scaled(TEXT));
                }
                plain(self.sized(target).times(each))
            }
            "url" => Some((read(args.first()?), Some(self.sized(args.first()?)))),
            "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                Some((read(target?), Some(self.sized(target?))))
            }
            "replace" => {
                let size = self.sized(target?);
                let result = replaced(size, self.sized(&args[0]), self.sized(&args[1]));
                Some((size.scaled(2.0 * TEXT), Some(result)))
            }
            "split" => {
                let size = self.sized(target?);
                let most = match args.get(1).map(|count| &count.expr.kind) {
                    Some(Kind::Literal(Value::Int(count))) => count.cast_unsigned(),
                    _ => size.max,
                };
                Some((size.scaled(2.0 * TEXT), Some(Range { min: 0, max: most })))
            }
            "join" => {
                let list = self.sized(target?);
                let mut size = match self.element(target?) {
                    Some((_, element)) => list.times(element),
                    None => Range::ZERO,
                };
                if let Some(separator) = args.first() {
                    let between =
                        Range { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
                    size = size.plus(self.sized(separator).times(between));
                }
                Some((size.scaled(TEXT), Some(size)))
            }
            "find" | "findAll" => {
                let size = self.sized(target?);
                let text = size.plus(Range::ONE).scaled(TEXT);
                let pattern = self.sized(&args[0]).scaled(PATTERN);
                Some((text.times(pattern), Some(Range { min: 0, max: size.max })))
            }
            "ip" if overload == "cidr_ip" => plain(Range::ONE),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver"
            | "isSemver" => plain(read(args.first()?)),
            "ip.isCanonical" => plain(self.sized(args.first()?).scaled(2.0 * TEXT)),
            "containsIP" | "containsCIDR" => {
                let mut cost = address.plus(address).scaled(TEXT);
                if function == "containsCIDR" {
                    cost = cost.plus(address.scaled(TEXT)).plus(Range::ONE);
                }
                if matches!(overload, "cidr_contains_ip_string" | "cidr_contains_cidr_string") {
                    cost = cost.plus(read(args.first()?));
                }
                plain(cost)
            }
            "validate" => plain(read(args.first()?).scaled(FORMAT_PATTERN * PATTERN)),
            "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery"
            | "serviceAccount"
            | "path"
            | "group"
            | "resource"
            | "subresource"
            | "namespace"
            | "name"
            | "allowed"
            | "reason"
            | "error"
            | "errored" => plain(Range::ONE),
            "_==_" => equality(args),
            _ => None,
        }
    }

    /// The language's own functions: cost, size of the result, and whether the arguments' costs
    /// are still to be added.
    fn standard(
        &mut self,
        expr: &Expr,
        overload: &str,
        target: Option<&Argument>,
        args: &[Argument],
        costs: &[Range],
    ) -> Option<(Range, Option<Range>, bool)> {
        let known = |argument: &Argument| argument.size.unwrap_or(Range::UNKNOWN);
        let plain = |cost: Range| Some((cost, None, true));
        match overload {
            "string_format" => plain(known(target?).scaled(TEXT)),
            "string_to_bytes" => {
                let size = known(args.first()?);
                let result = Range { min: size.min, max: size.max.wrapping_mul(4) };
                Some((size.scaled(TEXT), Some(result), true))
            }
            "bytes_to_string" => {
                let size = known(args.first()?);
                let result = Range { min: size.min / 4, max: size.max };
                Some((size.scaled(TEXT), Some(result), true))
            }
            "strings_quote" => {
                let size = known(args.first()?);
                let result = Range {
                    min: size.min.wrapping_add(2),
                    max: size.max.wrapping_mul(2).wrapping_add(2),
                };
                Some((size.scaled(TEXT), Some(result), true))
            }
            "starts_with_string" | "ends_with_string" => plain(known(args.first()?).scaled(TEXT)),
            "in_list" => plain(known(args.get(1)?).scaled(1.0)),
            "matches_string" => {
                let text = known(target?).plus(Range::ONE).scaled(TEXT);
                plain(text.times(known(args.first()?).scaled(PATTERN)))
            }
            "contains_string" => {
                plain(known(target?).scaled(TEXT).times(known(args.first()?).scaled(TEXT)))
            }
            "logical_or" | "logical_and" => {
                let cost = Range { min: costs[0].min, max: costs[0].plus(costs[1]).max };
                Some((cost, None, false))
            }
            "conditional" => {
                let size = known(&args[1]).union(known(&args[2]));
                let joined = self.joined(args[1].expr, args[2].expr);
                if let Some(entry) = joined {
                    self.entries.insert(expr.id, entry);
                }
                Some((costs[0].plus(costs[1].union(costs[2])), Some(size), false))
            }
            "add_string" | "add_bytes" | "add_list" => {
                let size = known(&args[0]).plus(known(&args[1]));
                if let Some(entry) = self.joined(args[0].expr, args[1].expr) {
                    self.entries.insert(expr.id, entry);
                }
                let cost = if overload == "add_list" { Range::ONE } else { size.scaled(TEXT) };
                Some((cost, Some(size), true))
            }
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals" => {
                let most = known(&args[0]).max.min(known(&args[1]).max);
                plain(Range { min: u64::from(most > 0), max: most }.scaled(TEXT))
            }
            _ => None,
        }
    }

    fn joined(&self, one: &Expr, two: &Expr) -> Option<Entry> {
        Some(self.entry(one)?.union(self.entry(two)?))
    }
}

/// Equality of Kubernetes' own types.
fn equality(args: &[Argument]) -> Option<Call> {
    let [one, two] = args else { return None };
    if one.declared.runtime_name() != two.declared.runtime_name() {
        return None;
    }
    let cost = match one.declared {
        Type::Ip | Type::Cidr | Type::Quantity | Type::Semver | Type::Authorization(_) => {
            Range::ONE
        }
        Type::Format => Range { min: 1, max: 64 }.scaled(TEXT),
        Type::Url => {
            let most = two.size.map_or(1, |size| size.max);
            Range { min: 1, max: most }.scaled(TEXT)
        }
        _ => return None,
    };
    Some((cost, None))
}

/// The size of a text of which parts were replaced.
fn replaced(text: Range, old: Range, new: Range) -> Range {
    let (mut count, mut kept) = (Range::ZERO, Range::ZERO);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate need not be exact"
    )]
    let divided = |size: u64, part: u64| (size as f64 / part as f64).ceil() as u64;
    if old.min == 0 {
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if new.max <= old.min {
        kept.max = text.max;
    } else {
        count.max = divided(text.max, old.min);
    }
    if old.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if old.max <= new.min {
        kept.min = text.min;
    } else {
        count.min = divided(text.min, old.max);
    }
    count.times(new).plus(kept)
}
