//! The recorded OpenAPI documents: parsed lazily, line by line, and shared by all builds.
//!
//! The format is that of `conformance/kustomize/openapi`, which records them. At first use only the starts of lines are
//! found; a schema is parsed when one of its fields is needed.

use std::sync::{LazyLock, OnceLock};

/// Kubernetes 1.21.2, which kustomize uses.
pub(super) static KUBERNETES: LazyLock<Table> =
    LazyLock::new(|| Table::new(include_str!("../../data/openapi-kubernetes-1.21.2.txt")));

/// kustomize's own kinds.
pub(super) static KUSTOMIZE: LazyLock<Table> =
    LazyLock::new(|| Table::new(include_str!("../../data/openapi-kustomize-0.21.1.txt")));

/// Schemas by number, and the number of each kind's schema.
pub(super) struct Table {
    schemas: Vec<(&'static str, OnceLock<Record>)>,
    /// The number of definitions; they come first, sorted by name.
    definitions: usize,
    /// Version, kind, schema number and scope of each kind, sorted.
    kinds: Vec<[&'static str; 4]>,
}

/// The parts of a schema that merging needs.
#[derive(Default)]
pub(super) struct Record {
    pub(super) definition: &'static str,
    fields: Vec<(&'static str, usize)>,
    values: Option<usize>,
    pub(super) items: Option<usize>,
    pub(super) strategy: &'static str,
    pub(super) keys: Vec<&'static str>,
}

impl Table {
    fn new(text: &'static str) -> Self {
        let mut lines = text.lines();
        let schemas: Vec<_> = lines
            .by_ref()
            .take_while(|line| !line.is_empty())
            .map(|line| (line, OnceLock::new()))
            .collect();
        let definitions = schemas.partition_point(|(line, _)| !line.starts_with('\t'));
        let columns = |line: &'static str| {
            let mut columns = line.split('\t');
            Some([columns.next()?, columns.next()?, columns.next()?, columns.next()?])
        };
        Self { schemas, definitions, kinds: lines.filter_map(columns).collect() }
    }

    /// The schema with that number.
    pub(super) fn record(&self, number: usize) -> &Record {
        static NONE: LazyLock<Record> = LazyLock::new(Record::default);
        match self.schemas.get(number) {
            Some((line, record)) => record.get_or_init(|| Record::read(line)),
            None => &NONE,
        }
    }

    /// The number of a definition.
    pub(super) fn definition(&self, name: &str) -> Option<usize> {
        let definitions = self.schemas.get(..self.definitions)?;
        definitions.binary_search_by_key(&name, |(line, _)| name_of(line)).ok()
    }

    /// The number of the schema of a kind.
    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<usize> {
        self.columns(api_version, kind)?.0.parse().ok()
    }

    /// Whether a kind is namespaced.
    pub(super) fn namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        match self.columns(api_version, kind)?.1 {
            "n" => Some(true),
            "c" => Some(false),
            _ => None,
        }
    }

    fn columns(&self, api_version: &str, kind: &str) -> Option<(&'static str, &'static str)> {
        let key = |[version, kind, ..]: &[&'static str; 4]| (*version, *kind);
        let found = self.kinds.binary_search_by_key(&(api_version, kind), key).ok()?;
        self.kinds.get(found).map(|[_, _, number, scope]| (*number, *scope))
    }
}

impl Record {
    fn read(line: &'static str) -> Self {
        let mut columns = line.split('\t');
        let mut record = Self { definition: columns.next().unwrap_or_default(), ..Self::default() };
        for attribute in columns.next().unwrap_or_default().split(' ') {
            match attribute.split_once('=') {
                Some(("items", number)) => record.items = number.parse().ok(),
                Some(("values", number)) => record.values = number.parse().ok(),
                Some(("strategy", strategy)) => record.strategy = strategy,
                Some(("keys", keys)) => record.keys = keys.split(',').collect(),
                _ => {}
            }
        }
        let fields = columns.next().unwrap_or_default().split(' ');
        record.fields = fields
            .filter_map(|field| {
                let (name, number) = field.split_once(':')?;
                Some((name, number.parse().ok()?))
            })
            .collect();
        record
    }

    /// The number of a field's schema.
    pub(super) fn field(&self, name: &str) -> Option<usize> {
        let found = self.fields.binary_search_by_key(&name, |(field, _)| field).ok();
        found.and_then(|at| self.fields.get(at)).map(|(_, number)| *number).or(self.values)
    }
}

fn name_of(line: &'static str) -> &'static str {
    line.split('\t').next().unwrap_or_default()
}
