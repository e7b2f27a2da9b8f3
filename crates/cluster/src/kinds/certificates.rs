//! The certificates.k8s.io group: CertificateSigningRequest.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind, NameRule};
use crate::status::Status;
use crate::validation::{Errors, names};
use crate::value::{at, int, list, remove, restore, set, text, texts};

/// The hooks of a resource of the certificates group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    (resource == "certificatesigningrequests").then(|| Arc::new(SigningRequest) as _)
}

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

struct SigningRequest;

impl Kind for SigningRequest {
    fn prepare_create(&self, context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        for name in ["spec.uid", "spec.groups", "spec.extra"] {
            remove(object, name);
        }
        set(object, "spec.username", context.user);
        set(object, "status", json!({}));
        Ok(())
    }

    fn prepare_update(
        &self,
        _context: &Context<'_>,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        restore(object, old, "spec");
        Ok(())
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = Vec::new();
        let request = STANDARD.decode(text(spec, "request")).unwrap_or_default();
        let marker = b"-----BEGIN CERTIFICATE REQUEST-----";
        if !request.windows(marker.len()).any(|part| part == marker) {
            let detail = "PEM block type must be CERTIFICATE REQUEST";
            let shown = at(spec, "request").clone();
            errors.push(FieldError::invalid(&path.child("request"), shown, detail));
        }
        let usages = texts(spec, "usages");
        let place = path.child("usages");
        if usages.is_empty() {
            errors.push(FieldError::required(&place, ""));
        }
        for (index, usage) in usages.iter().enumerate() {
            if !USAGES.contains(usage) {
                errors.push(FieldError::not_supported(&place.index(index), *usage, &USAGES));
            }
        }
        for (index, usage) in usages.iter().enumerate() {
            if usages[..index].contains(usage) {
                errors.push(FieldError::duplicate(&place.index(index), *usage));
            }
        }
        errors.extend(signer_name(text(spec, "signerName"), &path.child("signerName")));
        if let Some(seconds) = int(spec, "expirationSeconds").filter(|seconds| *seconds < 600) {
            let detail = "may not specify a duration less than 600 seconds (10 minutes)";
            errors.push(FieldError::invalid(&path.child("expirationSeconds"), seconds, detail));
        }
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, _object: &Value, _old: &Value) -> Errors {
        Vec::new()
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Errors {
        let mut errors = Vec::new();
        let path = Path::new("status").child("conditions");
        let has = |object: &Value, kind: &str| {
            list(object, "status.conditions").iter().any(|found| text(found, "type") == kind)
        };
        for kind in ["Approved", "Denied", "Failed"] {
            if has(old, kind) && !has(object, kind) {
                let detail = format!("updates may not remove a condition of type \"{kind}\"");
                errors.push(FieldError::forbidden(&path, detail));
            }
        }
        errors
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn has_status(&self) -> bool {
        true
    }

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        vec![("spec.signerName".into(), text(object, "spec.signerName").to_owned())]
    }
}

fn signer_name(name: &str, path: &Path) -> Errors {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let Some((domain, rest)) = name.split_once('/') else {
        let detail =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return vec![FieldError::invalid(path, name, detail)];
    };
    let mut errors = Vec::new();
    for message in names::dns_subdomain(domain) {
        let detail = format!("validating label \"{domain}\": {message}");
        errors.push(FieldError::invalid(path, domain, detail));
    }
    if domain.split('.').count() < 2 {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, domain, detail));
    }
    for message in names::dns_subdomain(rest) {
        let detail = format!("validating label \"{rest}\": {message}");
        errors.push(FieldError::invalid(path, rest, detail));
    }
    errors
}
