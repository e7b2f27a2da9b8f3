//! Kubeconfigs, which tenants write into Secrets.

use kube::config::Kubeconfig;

use crate::make::{join, nested, numbered, reason};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "kubeconfigs", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    Kubeconfig::from_yaml(&String::from_utf8_lossy(input)).map(drop).map_err(reason)
}

const HONEST: &str = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n  cluster: {server: https://k.example.com, certificate-authority-data: AAAA}\nusers:\n- name: u\n  user: {token: t}\ncontexts:\n- name: c\n  context: {cluster: k, user: u, namespace: n}\n";

fn seeds() -> Vec<Vec<u8>> {
    vec![HONEST.as_bytes().to_vec(), b"{\"clusters\": [], \"users\": []}".to_vec()]
}

fn hostile() -> Vec<Hostile> {
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..11 {
        let inner = vec![format!("*a{}", level - 1); 10].join(",");
        laughs.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    let servers = numbered("- name: k{n}\n  cluster: {server: https://k}\n", 15_000);
    vec![
        ("aliases of ten billion nodes", join(&[laughs.as_bytes(), HONEST.as_bytes()])),
        ("aliases in a name", join(&[laughs.as_bytes(), b"clusters: *a10\n"])),
        ("an alias of itself", b"clusters: &a [*a]\n".to_vec()),
        ("extensions that are nested", join(&[b"extensions: ", &nested("[", "1", "]", 100_000)])),
        ("maps in each other", nested("{a: ", "1", "}", 100_000)),
        ("15,000 clusters", format!("clusters:\n{servers}").into_bytes()),
        (
            "a token of a mebibyte",
            HONEST.replace("token: t", &format!("token: {}", "t".repeat(1 << 20))).into_bytes(),
        ),
        (
            "many documents",
            HONEST.replace("apiVersion", "---\napiVersion").repeat(3000).into_bytes(),
        ),
    ]
}
