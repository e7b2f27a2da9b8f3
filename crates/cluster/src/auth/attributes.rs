//! The attributes of a request that an authorizer decides on, and the text of a denial.

use sluice_base::go::quote;

use super::User;
use crate::request::RequestInfo;
use crate::status::Status;

/// A user, a verb and a target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) user: &'a User,
    pub(crate) verb: &'a str,
    pub(crate) target: Target<'a>,
}

/// The target of a request.
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
    /// A path that is not a resource.
    Path(&'a str),
}

impl<'a> Attributes<'a> {
    /// The attributes of a request.
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

    /// The namespace of the role bindings that apply beside cluster role bindings.
    pub(super) fn namespace(&self) -> &'a str {
        match self.target {
            Target::Resource { namespace, .. } => namespace,
            Target::Path(_) => "",
        }
    }

    /// 403, with the authorizer's reason, if any.
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

/// Escapes HTML, as upstream does, in case a browser shows the message.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
