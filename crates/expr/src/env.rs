//! Environments: the variables, types and functions that an expression may use.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checker::{self, Checked};
use crate::estimate;
use crate::kubernetes::Sizes;
use crate::parser::{self, Parsed, Syntax};
use crate::plan;
use crate::program::Program;
use crate::signatures::Library;
use crate::source::{CompileError, Issues, Source};
use crate::types::{ObjectType, Type};
use crate::validators;

/// Declared variables with their types, and the enabled libraries.
#[derive(Clone, Debug)]
pub struct Env {
    variables: BTreeMap<String, Type>,
    objects: BTreeMap<String, Arc<ObjectType>>,
    libraries: u32,
}

impl Env {
    /// An environment with no variables.
    pub fn new(libraries: &[Library]) -> Self {
        let libraries = libraries.iter().fold(0, |bits, library| bits | library.bit());
        Self { variables: BTreeMap::new(), objects: BTreeMap::new(), libraries }
    }

    /// The environment of Kubernetes 1.35.
    pub fn kubernetes() -> Self {
        Self::new(Library::KUBERNETES)
    }

    /// The environment of Flux.
    pub fn flux() -> Self {
        Self::new(Library::FLUX)
    }

    /// The environment with one more variable.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<String>, declared: Type) -> Self {
        self.register(&declared);
        self.variables.insert(name.into(), declared);
        self
    }

    fn register(&mut self, declared: &Type) {
        if let Type::Object(object) = declared {
            if self.objects.insert(object.name.clone(), Arc::clone(object)).is_some() {
                return;
            }
            for field in object.fields.values() {
                self.register(field);
            }
        }
        for inner in declared.parameters() {
            self.register(inner);
        }
    }

    pub(crate) fn libraries(&self) -> u32 {
        self.libraries
    }

    pub(crate) fn has(&self, library: Library) -> bool {
        self.libraries & library.bit() != 0
    }

    /// Whether Kubernetes' validators are at work.
    pub(crate) fn is_kubernetes(&self) -> bool {
        self.has(Library::Lists)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Type> {
        self.variables.get(name)
    }

    /// The type that a name in an expression means.
    pub(crate) fn type_named(&self, name: &str) -> Option<Type> {
        Some(match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "google.protobuf.Duration" => Type::Duration,
            "google.protobuf.Timestamp" => Type::Timestamp,
            "int" => Type::Int,
            "list" => Type::list(Type::Dyn),
            "map" => Type::map(Type::Dyn, Type::Dyn),
            "null_type" => Type::Null,
            "string" => Type::String,
            "type" => Type::Bare("type"),
            "uint" => Type::Uint,
            "optional_type" if self.has(Library::Optionals) => Type::Bare("optional_type"),
            "net.IP" if self.has(Library::Ip) => Type::Ip,
            "net.CIDR" if self.has(Library::Cidr) => Type::Cidr,
            // Kubernetes' type provider also knows these, but they have no value.
            "duration" if !self.objects.is_empty() => Type::Duration,
            "timestamp" if !self.objects.is_empty() => Type::Timestamp,
            _ => Type::Object(Arc::clone(self.objects.get(name)?)),
        })
    }

    fn syntax(&self) -> Syntax {
        Syntax {
            optionals: self.has(Library::Optionals),
            two_variables: self.has(Library::TwoVariables),
            sort_by: self.has(Library::ExtendedLists),
            bindings: self.has(Library::Bindings),
        }
    }

    /// Parses and checks an expression.
    pub fn compile(&self, text: &str) -> Result<Program, CompileError> {
        let (parsed, checked) = self.check(text)?;
        let output = checked.types[parsed.root.id].clone();
        plan::plan(self, &parsed.root, Some(&checked), output)
    }

    /// Like [`Env::compile`], with the most the expression may cost when `self` has these sizes.
    pub(crate) fn compile_estimated(
        &self,
        text: &str,
        sizes: Option<&Sizes>,
    ) -> Result<(Program, u64), CompileError> {
        let (parsed, checked) = self.check(text)?;
        let output = checked.types[parsed.root.id].clone();
        let program = plan::plan(self, &parsed.root, Some(&checked), output)?;
        Ok((program, estimate::most(&parsed.root, &checked, sizes)))
    }

    fn check(&self, text: &str) -> Result<(Parsed, Checked), CompileError> {
        let source = Source::new(text);
        let mut issues = Issues::default();
        let parsed = parser::parse(&source, self.syntax(), &mut issues);
        if !issues.is_empty() {
            return Err(issues.into_error(&source));
        }
        let checked = checker::check(self, &parsed.root, &parsed.places, &mut issues);
        if issues.is_empty() {
            validators::validate(self, &parsed, &checked, &mut issues);
        }
        if issues.is_empty() { Ok((parsed, checked)) } else { Err(issues.into_error(&source)) }
    }

    /// Parses an expression without checking it: every name is looked up when it is evaluated.
    pub fn parse(&self, text: &str) -> Result<Program, CompileError> {
        let source = Source::new(text);
        let mut issues = Issues::default();
        let parsed = parser::parse(&source, self.syntax(), &mut issues);
        if !issues.is_empty() {
            return Err(issues.into_error(&source));
        }
        let unchecked: Option<&Checked> = None;
        plan::plan(self, &parsed.root, unchecked, Type::Dyn)
    }
}
