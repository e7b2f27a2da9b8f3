//! Provider: a destination of events.

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, SHORT_DURATION, choice, object};
use crate::shared::reference::LocalObjectReference;

kind! {
    /// A destination of events.
    pub struct Provider {
        pub spec: ProviderSpec,
    }

    Definition {
        group: super::GROUP,
        version: "v1beta3",
        kind: "Provider",
        plural: "providers",
        short_names: &[],
        categories: &["all", "fluxcd", "fluxcd-notifications"],
        columns: &[
            Column::AGE,
        ],
        status: false,
        substitute: false,
    }
}

object! {
    /// Destination and credentials.
    #[schema(
        rules = [
            (
                "self.type == 'github' || self.type == 'gitlab' || self.type == 'gitea' || self.type == 'bitbucketserver' || self.type == 'bitbucket' || self.type == 'azuredevops' || !has(self.commitStatusExpr)",
                "spec.commitStatusExpr is only supported for the 'github', 'gitlab', 'gitea', 'bitbucketserver', 'bitbucket', 'azuredevops' provider types",
            ),
        ],
    )]
    pub struct ProviderSpec {
        /// Address of the destination.
        #[schema(max_length = 2048)]
        pub address: Option<String>,
        /// Secret with a client certificate (`tls.crt`, `tls.key`) or an authority to trust (`ca.crt`).
        pub cert_secret_ref: Option<LocalObjectReference>,
        /// The channel, room or topic.
        #[schema(max_length = 2048)]
        pub channel: Option<String>,
        /// CEL expression that makes the identifier of a commit status.
        pub commit_status_expr: Option<String>,
        /// Interval of reconciliations; kept for older versions.
        #[schema(pattern = DURATION)]
        pub interval: Option<GoDuration>,
        /// Address of a proxy; older than the Secret.
        #[schema(pattern = "^(http|https)://.*$", max_length = 2048)]
        pub proxy: Option<String>,
        /// Secret with the address of a proxy and the credentials for it.
        pub proxy_secret_ref: Option<LocalObjectReference>,
        /// Secret with the credentials, in the same namespace.
        pub secret_ref: Option<LocalObjectReference>,
        /// Service account to act as.
        pub service_account_name: Option<String>,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// How long sending may take.
        #[schema(pattern = SHORT_DURATION)]
        pub timeout: Option<GoDuration>,
        /// Type of the destination.
        pub r#type: ProviderType,
        /// User name of the messages.
        #[schema(max_length = 2048)]
        pub username: Option<String>,
    }
}

choice! {
    /// Type of a destination of events.
    pub enum ProviderType {
        Slack = "slack",
        Discord = "discord",
        Msteams = "msteams",
        Rocket = "rocket",
        Generic = "generic",
        GenericHmac = "generic-hmac",
        Github = "github",
        Gitlab = "gitlab",
        Gitea = "gitea",
        Giteapullrequestcomment = "giteapullrequestcomment",
        Bitbucketserver = "bitbucketserver",
        Bitbucket = "bitbucket",
        Azuredevops = "azuredevops",
        Googlechat = "googlechat",
        Googlepubsub = "googlepubsub",
        Webex = "webex",
        Sentry = "sentry",
        Azureeventhub = "azureeventhub",
        Telegram = "telegram",
        Lark = "lark",
        Matrix = "matrix",
        Opsgenie = "opsgenie",
        Alertmanager = "alertmanager",
        Grafana = "grafana",
        Githubdispatch = "githubdispatch",
        Githubpullrequestcomment = "githubpullrequestcomment",
        Gitlabmergerequestcomment = "gitlabmergerequestcomment",
        Pagerduty = "pagerduty",
        Datadog = "datadog",
        Nats = "nats",
        Zulip = "zulip",
        Otel = "otel",
    }
}
