//! What a server says about itself: which faults it can do, and what rules can look at.

use super::{Attribute, Fault, Rule};

/// What a server can do to requests, and what it knows about them.
#[derive(Debug)]
pub struct Transport {
    /// Its name, for messages.
    pub name: &'static str,
    /// What requests ask for; the values of [`Attribute::Verb`].
    pub verbs: &'static [&'static str],
    /// What rules can look at.
    pub attributes: &'static [Attribute],
    /// Whether it can do a fault.
    pub can: fn(&Fault) -> bool,
}

impl Transport {
    /// Whether the server can follow a rule.
    pub(super) fn check(&self, rule: &Rule) -> Result<(), FaultError> {
        let transport = self.name;
        if !(self.can)(&rule.fault) {
            let fault = Box::new(rule.fault.clone());
            return Err(FaultError::Impossible { transport, fault });
        }
        for (attribute, values) in rule.scope.wanted() {
            if !self.attributes.contains(&attribute) {
                return Err(FaultError::Unknown { transport, attribute });
            }
            let is_unknown = |verb: &&String| !self.verbs.contains(&verb.as_str());
            if attribute == Attribute::Verb
                && let Some(verb) = values.iter().find(is_unknown)
            {
                return Err(FaultError::Verb { transport, verb: verb.clone() });
            }
        }
        Ok(())
    }
}

/// Why a rule cannot be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// The transport cannot do the fault.
    #[error("{transport} cannot do {fault:?}")]
    Impossible {
        /// The transport.
        transport: &'static str,
        /// The fault.
        fault: Box<Fault>,
    },
    /// The rule looks at something that the transport does not know.
    #[error("{transport} has no {attribute:?} of requests")]
    Unknown {
        /// The transport.
        transport: &'static str,
        /// What the rule looks at.
        attribute: Attribute,
    },
    /// No request of the transport has this verb.
    #[error("{transport} has no requests with the verb {verb:?}")]
    Verb {
        /// The transport.
        transport: &'static str,
        /// The verb.
        verb: String,
    },
}
