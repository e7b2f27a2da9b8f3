//! IPAddress.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind, NameRule};
use crate::kinds::internal;
use crate::validation::{Errors, IMMUTABLE, addresses, invalid_raw, named, names};
use crate::value::{at, same, text};

/// The hooks of IPAddress.
pub(super) struct IpAddress;

impl Kind for IpAddress {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let name = text(object, "metadata.name");
        let mut errors = addresses::canonical_address(name, &Path::new("metadata").child("name"));
        let path = Path::new("spec").child("parentRef");
        let parent = at(object, "spec.parentRef");
        if parent.is_null() {
            errors.push(FieldError::required(&path, ""));
            return errors;
        }
        let group = text(parent, "group");
        if !group.is_empty() {
            errors.extend(named(names::dns_subdomain, group, &path.child("group")));
        }
        for name in ["resource", "name", "namespace"] {
            let value = text(parent, name);
            if !value.is_empty() {
                errors.extend(named(names::path_segment, value, &path.child(name)));
            } else if name != "namespace" {
                errors.push(FieldError::required(&path.child(name), ""));
            }
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = self.validate(context, object);
        let parent = at(object, "spec.parentRef");
        if !same(parent, at(old, "spec.parentRef")) {
            let printed = internal::print("*ParentReference", parent);
            let path = Path::new("spec").child("parentRef");
            errors.push(invalid_raw(&path, &printed, IMMUTABLE));
        }
        errors
    }

    /// The name is an address, which [`Kind::validate`] checks.
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }
}
