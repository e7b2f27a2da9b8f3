//! Allocation of cluster addresses and node ports. The existing Services are the record: an address
//! or port is taken if one of them has it, so a dry run takes nothing.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use super::{kind_of, needs_health_port, needs_node_ports, validate};
use crate::kind::Context;
use crate::status::Status;
use crate::store::index::Term;
use crate::validation::addresses;
use crate::value::{at, entries, flag, list, list_mut, number, present, set, text, texts};

/// 10.96.0.0/16, the range that kubeadm gives to Services.
const NETWORK: (IpAddr, u8) = (IpAddr::V4(Ipv4Addr::new(10, 96, 0, 0)), 16);
const FIRST_ADDRESS: u32 = u32::from_be_bytes([10, 96, 0, 1]);
const ADDRESSES: u32 = (1 << 16) - 2;
const FIRST_PORT: i64 = 30000;
const PORTS: i64 = 2768;

/// Allocates addresses and ports of a new Service.
pub(super) fn create(context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
    let address = text(object, "spec.clusterIP").to_owned();
    if !address.is_empty() && list(object, "spec.clusterIPs").is_empty() {
        set(object, "spec.clusterIPs", json!([address]));
    }
    families(object, None)?;
    let mut ledger = Ledger::new(context, object);
    ledger.address(object)?;
    if needs_node_ports(object) {
        ledger.node_ports(object)?;
    }
    if needs_health_port(object) {
        ledger.health_port(object)?;
    }
    Ok(())
}

/// Keeps what a Service has, and allocates what its new type needs.
pub(super) fn update(context: &Context<'_>, object: &mut Value, old: &Value) -> Result<(), Status> {
    keep_allocated(object, old);
    normalize_addresses(object, old);
    families(object, Some(old))?;
    let mut ledger = Ledger::new(context, object);
    if kind_of(old) == "ExternalName" {
        ledger.address(object)?;
    }
    if needs_node_ports(object) {
        let kept: Vec<i64> =
            list(old, "spec.ports").iter().map(|port| number(port, "nodePort")).collect();
        ledger.changed_node_ports(object, &kept)?;
    }
    if needs_health_port(object) && !needs_health_port(old) {
        ledger.health_port(object)?;
    }
    Ok(())
}

fn keep_allocated(object: &mut Value, old: &Value) {
    if kind_of(old) != "ExternalName" && kind_of(object) != "ExternalName" {
        if text(object, "spec.clusterIP").is_empty() {
            set(object, "spec.clusterIP", at(old, "spec.clusterIP").clone());
        }
        if list(object, "spec.clusterIPs").is_empty() {
            set(object, "spec.clusterIPs", at(old, "spec.clusterIPs").clone());
        }
    }
    if needs_node_ports(old) && needs_node_ports(object) {
        let ports_of = |service: &Value| -> BTreeSet<i64> {
            list(service, "spec.ports").iter().map(|port| number(port, "nodePort")).collect()
        };
        let used: BTreeSet<_> = ports_of(old).intersection(&ports_of(object)).copied().collect();
        for port in list_mut(object, "spec.ports") {
            let before = list(old, "spec.ports")
                .iter()
                .rev()
                .find(|before| text(before, "name") == text(port, "name"))
                .map_or(0, |before| number(before, "nodePort"));
            if number(port, "nodePort") == 0 && before != 0 && !used.contains(&before) {
                set(port, "nodePort", before);
            }
        }
    }
    let health = super::HEALTH_PORT;
    if needs_health_port(old) && needs_health_port(object) && number(object, health) == 0 {
        set(object, health, at(old, health).clone());
    }
}

fn normalize_addresses(object: &mut Value, old: &Value) {
    let (now, before) = (text(object, "spec.clusterIP").to_owned(), text(old, "spec.clusterIP"));
    let unchanged = at(object, "spec.clusterIPs") == at(old, "spec.clusterIPs");
    if now != before && unchanged {
        let addresses = if now.is_empty() { Value::Null } else { json!([now]) };
        set(object, "spec.clusterIPs", addresses);
    }
}

fn refused(object: &Value, errors: &[FieldError]) -> Status {
    Status::invalid("", "Service", text(object, "metadata.name"), errors)
}

/// Fills in the address families of this single-stack cluster.
fn families(object: &mut Value, old: Option<&Value>) -> Result<(), Status> {
    if kind_of(object) == "ExternalName" {
        return Ok(());
    }
    let bare =
        text(object, "spec.clusterIP") == "None" && entries(object, "spec.selector").is_empty();
    if !present(object, "spec.ipFamilyPolicy") {
        let policy = match old.map(|old| at(old, "spec.ipFamilyPolicy")) {
            Some(policy) if !policy.is_null() => policy.clone(),
            _ if bare => "RequireDualStack".into(),
            _ => "SingleStack".into(),
        };
        set(object, "spec.ipFamilyPolicy", policy);
    }
    let errors = validate::addresses_and_families(object);
    if !errors.is_empty() {
        return Err(refused(object, &errors));
    }
    let path = Path::new("spec");
    let policy = text(object, "spec.ipFamilyPolicy").to_owned();
    let mut errors = Vec::new();
    if let Some(old) = old.filter(|_| policy != "SingleStack") {
        for (name, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
            let name = format!("spec.{name}");
            let (now, before) = (list(object, &name).len(), list(old, &name).len());
            if now > 0 && now < before {
                let detail = format!("must be 'SingleStack' to release the secondary {what}");
                let path = path.child("ipFamilyPolicy");
                errors.push(FieldError::invalid(&path, policy.as_str(), detail));
            }
        }
    }
    if policy == "SingleStack" {
        for (name, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if list(object, &format!("spec.{name}")).len() == 2 {
                let detail = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                );
                let path = path.child("ipFamilyPolicy");
                errors.push(FieldError::invalid(&path, policy.as_str(), detail));
            }
        }
    }
    let mut found: Vec<String> =
        texts(object, "spec.ipFamilies").into_iter().map(str::to_owned).collect();
    for (index, address) in texts(object, "spec.clusterIPs").into_iter().enumerate() {
        if address == "None" {
            break;
        }
        if index < found.len() {
            continue;
        }
        match addresses::parse_legacy(address) {
            Some(IpAddr::V6(_)) => errors.push(FieldError::invalid(
                &path.child("clusterIPs").index(index),
                at(object, "spec.clusterIPs").clone(),
                "IPv6 is not configured on this cluster",
            )),
            _ => found.push("IPv4".to_owned()),
        }
    }
    if !errors.is_empty() {
        return Err(refused(object, &errors));
    }
    if bare {
        if found.is_empty() {
            found.push("IPv4".to_owned());
        }
        if found.len() < 2 && policy != "SingleStack" {
            found.push(if found[0] == "IPv4" { "IPv6" } else { "IPv4" }.to_owned());
        }
        set(object, "spec.ipFamilies", found);
        return Ok(());
    }
    if policy == "RequireDualStack" {
        errors.push(FieldError::invalid(
            &path.child("ipFamilyPolicy"),
            policy,
            "this cluster is not configured for dual-stack services",
        ));
    }
    for (index, family) in found.iter().enumerate() {
        if family != "IPv4" {
            errors.push(FieldError::invalid(
                &path.child("ipFamilies").index(index),
                family.as_str(),
                "not configured on this cluster",
            ));
        }
    }
    if !errors.is_empty() {
        return Err(refused(object, &errors));
    }
    if found.is_empty() {
        found.push("IPv4".to_owned());
    }
    set(object, "spec.ipFamilies", found);
    Ok(())
}

fn place(service: &Value) -> (String, String) {
    let part = |path| text(service, path).to_owned();
    (part("metadata.namespace"), part("metadata.name"))
}

/// The addresses and ports that other Services have not taken.
struct Ledger<'a> {
    context: &'a Context<'a>,
    /// The namespace and the name of the Service.
    own: (String, String),
    /// The node ports that were allocated just now.
    ports: BTreeSet<i64>,
}

impl<'a> Ledger<'a> {
    fn new(context: &'a Context<'a>, object: &Value) -> Self {
        Self { context, own: place(object), ports: BTreeSet::new() }
    }

    fn is_taken(&self, term: Term) -> bool {
        let holders = self.context.view.holding("", "services", term);
        holders.iter().any(|service| place(service) != self.own)
    }

    fn address(&self, object: &mut Value) -> Result<(), Status> {
        let wanted = texts(object, "spec.clusterIPs").first().copied().unwrap_or_default();
        if kind_of(object) == "ExternalName" || wanted == "None" {
            return Ok(());
        }
        if !wanted.is_empty() {
            let why = match addresses::parse_legacy(wanted) {
                Some(address) if !addresses::contains(NETWORK, address) => format!(
                    "the provided IP ({address}) is not in the valid range. The range of valid IPs is 10.96.0.0/16"
                ),
                Some(address) if self.is_taken(Term::Address(address)) => {
                    "provided IP is already allocated".to_owned()
                }
                _ => return Ok(()),
            };
            let error = FieldError::invalid(
                &Path::new("spec").child("clusterIPs"),
                at(object, "spec.clusterIPs").clone(),
                format!("failed to allocate IP {wanted}: {why}"),
            );
            return Err(refused(object, &[error]));
        }
        let start = u32::try_from(self.context.view.random(u64::from(ADDRESSES))).unwrap_or(0);
        let free = (0..ADDRESSES)
            .map(|step| Ipv4Addr::from(FIRST_ADDRESS + (start + step) % ADDRESSES))
            .find(|address| !self.is_taken(Term::Address(IpAddr::V4(*address))));
        let Some(address) = free else {
            return Err(Status::internal("failed to allocate a serviceIP: range is full"));
        };
        set(object, "spec.clusterIP", address.to_string());
        set(object, "spec.clusterIPs", json!([address.to_string()]));
        Ok(())
    }

    fn next_port(&mut self) -> Result<i64, Status> {
        if self.context.dry_run {
            // Upstream answers a dry run with a number that is never a node port.
            let last = self.ports.last().copied().unwrap_or_default();
            let port = last.max(FIRST_PORT + PORTS) + 1;
            self.ports.insert(port);
            return Ok(port);
        }
        let start = i64::try_from(self.context.view.random(PORTS.unsigned_abs())).unwrap_or(0);
        let free = (0..PORTS)
            .map(|step| FIRST_PORT + (start + step) % PORTS)
            .find(|port| !self.ports.contains(port) && !self.is_taken(Term::NodePort(*port)));
        let Some(port) = free else {
            return Err(Status::internal("failed to allocate a nodePort: range is full"));
        };
        self.ports.insert(port);
        Ok(port)
    }

    fn claim(&mut self, port: i64) -> Result<(), String> {
        // Upstream's dry run checks only whether the port is taken.
        if !self.context.dry_run && !(FIRST_PORT..FIRST_PORT + PORTS).contains(&port) {
            return Err(
                "provided port is not in the valid range. The range of valid ports is 30000-32767"
                    .to_owned(),
            );
        }
        if self.is_taken(Term::NodePort(port)) || !self.ports.insert(port) {
            return Err("provided port is already allocated".to_owned());
        }
        Ok(())
    }

    fn refuse_port(object: &Value, index: usize, port: i64, why: String) -> Status {
        let path = Path::new("spec").child("ports").index(index).child("nodePort");
        refused(object, &[FieldError::invalid(&path, port, why)])
    }

    fn allocates(object: &Value) -> bool {
        kind_of(object) == "NodePort" || flag(object, "spec.allocateLoadBalancerNodePorts")
    }

    /// Ports of one number (over several protocols) share a node port.
    fn node_ports(&mut self, object: &mut Value) -> Result<(), Status> {
        let mut shared: Vec<(i64, i64)> = Vec::new();
        let ports = list(object, "spec.ports").to_vec();
        for (index, port) in ports.iter().enumerate() {
            let (number_, wanted) = (number(port, "port"), number(port, "nodePort"));
            if wanted == 0 && !Self::allocates(object) {
                continue;
            }
            let known = shared.iter().find(|(number, _)| *number == number_).map(|(_, port)| *port);
            let node_port = match known {
                Some(known) if wanted == 0 || wanted == known => known,
                Some(_) => {
                    self.claim(wanted)
                        .map_err(|why| Self::refuse_port(object, index, wanted, why))?;
                    wanted
                }
                None => {
                    let asked = ports
                        .iter()
                        .find(|other| {
                            number(other, "port") == number_ && number(other, "nodePort") != 0
                        })
                        .map(|other| number(other, "nodePort"));
                    let node_port = match asked {
                        Some(asked) => {
                            self.claim(asked)
                                .map_err(|why| Self::refuse_port(object, index, asked, why))?;
                            asked
                        }
                        None => self.next_port()?,
                    };
                    shared.push((number_, node_port));
                    node_port
                }
            };
            if let Some(port) = list_mut(object, "spec.ports").get_mut(index) {
                set(port, "nodePort", node_port);
            }
        }
        Ok(())
    }

    fn changed_node_ports(&mut self, object: &mut Value, kept: &[i64]) -> Result<(), Status> {
        let mut claimed = Vec::new();
        for index in 0..list(object, "spec.ports").len() {
            let wanted =
                list(object, "spec.ports").get(index).map_or(0, |port| number(port, "nodePort"));
            if wanted == 0 && !Self::allocates(object) {
                continue;
            }
            if wanted == 0 {
                let port = self.next_port()?;
                if let Some(item) = list_mut(object, "spec.ports").get_mut(index) {
                    set(item, "nodePort", port);
                }
            } else if !kept.contains(&wanted) && !claimed.contains(&wanted) {
                self.claim(wanted).map_err(|why| Self::refuse_port(object, index, wanted, why))?;
                claimed.push(wanted);
            }
        }
        Ok(())
    }

    fn health_port(&mut self, object: &mut Value) -> Result<(), Status> {
        let wanted = number(object, super::HEALTH_PORT);
        if wanted == 0 {
            let port = self.next_port()?;
            set(object, super::HEALTH_PORT, port);
            return Ok(());
        }
        self.claim(wanted).map_err(|why| {
            Status::internal(&format!(
                "failed to allocate requested HealthCheck NodePort {wanted}: {why}"
            ))
        })
    }
}
