//! Label selectors as `k8s.io/apimachinery/pkg/labels` has them: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.
//!
//! There is one parser, [`Selector::parse`]; kustomize carries a copy of an older release, whose texts (and one quirk with
//! two commas) are [`Selector::parse_kyaml`]. `metav1.LabelSelector` is read by [`Selector::from_object`].

mod object;
mod parse;

use std::fmt;

/// Why a selector is refused, in upstream's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(String);

/// How a label is compared with the values of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`
    NotIn,
    /// `key=a`
    Equals,
    /// `key==a`
    DoubleEquals,
    /// `key!=a`
    NotEquals,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

/// What one label has to be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

impl Requirement {
    /// The key of the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The values of which the label has to have one, if the requirement says that.
    pub fn wanted(&self) -> Option<&[String]> {
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => Some(&self.values),
            _ => None,
        }
    }

    fn matches(&self, label: Option<&str>) -> bool {
        let is_listed = |label: &str| self.values.iter().any(|value| value == label);
        let bound = || self.values.first().and_then(|value| value.parse::<i64>().ok());
        let number = || label.and_then(|label| label.parse::<i64>().ok()).zip(bound());
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => {
                label.is_some_and(is_listed)
            }
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(is_listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => number().is_some_and(|(number, bound)| number > bound),
            Operator::LessThan => number().is_some_and(|(number, bound)| number < bound),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, operator, values } = self;
        let mut values: Vec<&str> = values.iter().map(String::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        match operator {
            Operator::In => write!(formatter, "{key} in ({values})"),
            Operator::NotIn => write!(formatter, "{key} notin ({values})"),
            Operator::Equals => write!(formatter, "{key}={values}"),
            Operator::DoubleEquals => write!(formatter, "{key}=={values}"),
            Operator::NotEquals => write!(formatter, "{key}!={values}"),
            Operator::Exists => formatter.write_str(key),
            Operator::DoesNotExist => write!(formatter, "!{key}"),
            Operator::GreaterThan => write!(formatter, "{key}>{values}"),
            Operator::LessThan => write!(formatter, "{key}<{values}"),
        }
    }
}

/// What labels have to be like: all requirements hold. Without requirements it selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

impl Selector {
    /// Reads the text form as apimachinery 0.35 does.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::parse(text, parse::Release::Current).map(Self::sorted).map_err(SelectorError)
    }

    /// Reads the text form as the copy of apimachinery 0.19 in kyaml does.
    pub fn parse_kyaml(text: &str) -> Result<Self, SelectorError> {
        parse::parse(text, parse::Release::Kyaml).map(Self::sorted).map_err(SelectorError)
    }

    /// The selector of objects that have these labels. They are not validated.
    pub fn equal(labels: &[(&str, &str)]) -> Self {
        let requirement = |(key, value): &(&str, &str)| Requirement {
            key: (*key).to_owned(),
            operator: Operator::Equals,
            values: vec![(*value).to_owned()],
        };
        Self::sorted(labels.iter().map(requirement).collect())
    }

    fn sorted(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        Self(requirements)
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The requirements, by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// Whether labels fit; `label` looks one up by its key.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|requirement| requirement.matches(label(&requirement.key)))
    }
}

/// The text form, requirements by key and values in order.
impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirements: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        formatter.write_str(&requirements.join(","))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Selector;

    #[test]
    fn labels_are_selected_by_every_operator() {
        let labels = BTreeMap::from([("app", "web"), ("tier", "1"), ("none", "")]);
        let cases = [
            ("", true),
            ("app=web", true),
            ("app == web , tier", true),
            ("app!=web", false),
            ("zone!=x", true),
            ("app in (web,api)", true),
            ("app notin (web, api)", false),
            ("none in ()", true),
            ("none in (a,)", true),
            ("none in (a,b)", false),
            ("none=", true),
            ("!zone", true),
            ("!app", false),
            ("tier>0", true),
            ("tier<1", false),
        ];
        for (text, expected) in cases {
            for selector in [Selector::parse(text), Selector::parse_kyaml(text)] {
                let selector = selector.unwrap();
                assert_eq!(selector.matches(|key| labels.get(key).copied()), expected, "{text}");
            }
        }
    }

    #[test]
    fn refusals_are_upstreams() {
        // the text, what the current release says, and what kyaml's says if that differs
        let requirement = "unable to parse requirement: ";
        let cases = [
            ("a=b=c", "found '=', expected: ',' or 'end of string'".to_owned(), None),
            ("a,", "found '', expected: identifier after ','".to_owned(), None),
            ("(a)", "found '(', expected: !, identifier, or 'end of string'".to_owned(), None),
            ("a in b", format!("{requirement}found 'b' expected: '('"), None),
            ("a in (b c)", format!("{requirement}found 'c', expected: ',' or ')'"), None),
            (
                "n within (1)",
                format!("{requirement}found 'within', expected: in, notin, =, ==, !=, gt, lt"),
                Some("found 'within', expected: '=', '!=', '==', 'in', notin'"),
            ),
            (
                "a > b",
                format!(
                    "{requirement}values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer"
                ),
                Some("for 'Gt', 'Lt' operators, the value must be an integer"),
            ),
        ];
        for (text, current, kyaml) in cases {
            let kyaml = kyaml.map_or_else(|| current.clone(), |why| format!("{requirement}{why}"));
            assert_eq!(Selector::parse(text).unwrap_err().to_string(), current);
            assert_eq!(Selector::parse_kyaml(text).unwrap_err().to_string(), kyaml);
        }
    }
}
