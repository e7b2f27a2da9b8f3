//! Entries of `labels`.

use std::collections::BTreeMap;

use crate::decode::Fields;
use crate::failure::Result;
use crate::field_spec::FieldSpec;
use crate::transformers::LabelFields;

/// Labels, and which fields get them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Label {
    pub(crate) pairs: BTreeMap<String, String>,
    pub(crate) wanted: LabelFields,
}

impl Label {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            pairs: fields.map("pairs")?.unwrap_or_default(),
            wanted: LabelFields {
                include_selectors: fields.flag("includeSelectors")?,
                include_templates: fields.flag("includeTemplates")?,
                fields: fields.objects("fields", "FieldSpec", FieldSpec::read)?,
            },
        })
    }
}
