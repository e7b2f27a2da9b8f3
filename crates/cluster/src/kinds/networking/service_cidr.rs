//! ServiceCIDR.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, IMMUTABLE, addresses};
use crate::value::{at, texts};

/// The hooks of ServiceCIDR.
pub(super) struct ServiceCidr;

impl Kind for ServiceCidr {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec").child("cidrs");
        let ranges = texts(object, "spec.cidrs");
        let mut errors = Vec::new();
        if ranges.is_empty() {
            errors.push(FieldError::required(&path, "at least one CIDR required"));
        }
        for (index, range) in ranges.iter().enumerate() {
            errors.extend(addresses::canonical_network(range, &path.index(index)));
        }
        let is_v6 = |range: &str| addresses::parse_network(range).map(|(ip, _)| ip.is_ipv6());
        if let [first, second] = ranges.as_slice()
            && is_v6(first).is_some()
            && is_v6(first) == is_v6(second)
        {
            let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
            errors.push(FieldError::invalid(&path, at(object, "spec.cidrs").clone(), detail));
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let path = Path::new("spec").child("cidrs");
        let (now, before) = (texts(object, "spec.cidrs"), texts(old, "spec.cidrs"));
        let changed = |index: usize| {
            (now[index] != before[index])
                .then(|| FieldError::invalid(&path.index(index), now[index], IMMUTABLE))
        };
        if now.len() == before.len() {
            return (0..now.len()).filter_map(changed).collect();
        }
        if before.len() == 1 && now.len() == 2 {
            let mut errors: Errors = changed(0).into_iter().collect();
            errors.extend(self.validate(context, object));
            return errors;
        }
        vec![FieldError::invalid(&path, at(object, "spec.cidrs").clone(), IMMUTABLE)]
    }

    fn has_status(&self) -> bool {
        true
    }
}
