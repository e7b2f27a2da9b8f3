//! CertificateSigningRequests: signer, requestor and condition.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, Literal, NAME, Printer};
use crate::printers::age::{age, human};
use crate::printers::cell::{cells, condition, or};
use crate::value::{int, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    AGE,
    Column::string(
        "SignerName",
        Literal(
            "Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it's a kubelet client certificate, it is assigned\n    \"kubernetes.io/kube-apiserver-client-kubelet\".\n 2. If it's a kubelet serving certificate, it is assigned\n    \"kubernetes.io/kubelet-serving\".\n 3. Otherwise, it is assigned \"kubernetes.io/legacy-unknown\".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.",
        ),
    ),
    Column::string("Requestor", Literal("Base64-encoded PKCS#10 CSR data")),
    Column::string(
        "RequestedDuration",
        Field("certificates.v1.CertificateSigningRequestSpec", "expirationSeconds"),
    ),
    Column::string(
        "Condition",
        Literal("Conditions applied to the request, such as approval or denial."),
    ),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let duration = int(object, "spec.expirationSeconds");
    cells![
        metadata::name(object),
        age(object, now),
        or(text(object, "spec.signerName"), "<none>"),
        text(object, "spec.username"),
        duration.map_or_else(
            || "<none>".to_owned(),
            |seconds| human(SignedDuration::from_secs(seconds))
        ),
        answer(object),
    ]
}

fn answer(object: &Value) -> String {
    let has = |kind: &str| condition(object, "status.conditions", kind).is_some();
    let mut answer = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has("Failed") {
        answer.push_str(",Failed");
    }
    if !text(object, "status.certificate").is_empty() {
        answer.push_str(",Issued");
    }
    answer
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_denial_goes_before_an_approval() {
        let cases = [
            (json!({}), "Pending"),
            (
                json!({"conditions": [{"type": "Approved"}], "certificate": "eA=="}),
                "Approved,Issued",
            ),
            (json!({"conditions": [{"type": "Approved"}, {"type": "Denied"}]}), "Denied"),
            (json!({"conditions": [{"type": "Approved"}, {"type": "Failed"}]}), "Approved,Failed"),
        ];
        for (status, expected) in cases {
            assert_eq!(answer(&json!({"status": status})), expected, "{status}");
        }
    }
}
