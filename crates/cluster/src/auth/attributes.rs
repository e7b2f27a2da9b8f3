//! What an authorizer looks at, and how a refusal is worded.

use sluice_base::gojson::quote;

use super::User;
use crate::request::RequestInfo;
use crate::status::Status;

/// Somebody who wants to do something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) user: &'a User,
    pub(crate) verb: &'a str,
    pub(crate) target: Target<'a>,
}

/// What it is to be done to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// An object or a collection.
    Resource {
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        /// Empty: in the cluster, or in all namespaces.
        namespace: &'a str,
        /// Empty: all of them, or one that is not named.
        name: &'a str,
    },
    /// A path that is no resource.
    Path(&'a str),
}

impl<'a> Attributes<'a> {
    /// What a request asks.
    pub(crate) fn of_request(user: &'a User, info: &'a RequestInfo) -> Self {
        let target = if info.is_resource {
            Target::Resource {
                group: &info.group,
                resource: &info.resource,
                subresource: &info.subresource,
                namespace: &info.namespace,
                name: &info.name,
            }
        } else {
            Target::Path(&info.path)
        };
        Self { user, verb: info.verb, target }
    }

    /// The namespace whose bindings count beside those of the cluster.
    pub(super) fn namespace(&self) -> &'a str {
        match self.target {
            Target::Resource { namespace, .. } => namespace,
            Target::Path(_) => "",
        }
    }

    /// 403, with the reason the authorizer gives, if any.
    pub(crate) fn forbidden(&self, reason: &str) -> Status {
        let mut why = escape_html(&self.describe());
        if !reason.is_empty() {
            why.push_str(": ");
            why.push_str(reason);
        }
        match self.target {
            Target::Resource { group, resource, name, .. } => {
                Status::forbidden(group, resource, name, &why)
            }
            Target::Path(_) => Status::forbidden("", "", "", &why),
        }
    }

    fn describe(&self) -> String {
        let (user, verb) = (quote(&self.user.name), self.verb);
        match self.target {
            Target::Path(path) => format!("User {user} cannot {verb} path {}", quote(path)),
            Target::Resource { group, resource, subresource, namespace, .. } => {
                let resource = if subresource.is_empty() {
                    quote(resource)
                } else {
                    quote(&format!("{resource}/{subresource}"))
                };
                let place = if namespace.is_empty() {
                    "at the cluster scope".to_owned()
                } else {
                    format!("in the namespace {}", quote(namespace))
                };
                let group = quote(group);
                format!(
                    "User {user} cannot {verb} resource {resource} in API group {group} {place}"
                )
            }
        }
    }
}

/// Keeps a message from looking like markup to a browser that was led here.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
