//! Generates a ServiceAccount that is bound to a cloud account.

use crate::decode::Fields;
use crate::failure::{Failure, Result};
use crate::resource::Resource;

/// The cloud account, and the ServiceAccount.
#[derive(Debug, Clone)]
pub(crate) struct IamPolicy {
    cloud: String,
    name: String,
    namespace: String,
    account: String,
    project: String,
}

impl IamPolicy {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self> {
        let service = fields.object("kubernetesService", "KubernetesService", |service| {
            Ok((service.text("name")?, service.text("namespace")?))
        })?;
        let account = fields.object("serviceAccount", "ServiceAccount", |account| {
            Ok((account.text("name")?, account.text("projectId")?))
        })?;
        let (name, namespace) = service.unwrap_or_default();
        let (account, project) = account.unwrap_or_default();
        Ok(Self { cloud: fields.text("cloud")?, name, namespace, account, project })
    }

    pub(super) fn generate(&self) -> Result<Resource> {
        let Self { cloud, name, namespace, account, project } = self;
        if cloud != "gke" {
            return Err(Failure::new(format!("cloud provider {cloud} not supported yet")));
        }
        // The values are inserted into YAML as they are, so that they may be more than strings.
        let mut text = format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  annotations:\n    \
             iam.gke.io/gcp-service-account: {account}@{project}.iam.gserviceaccount.com\n  \
             name: {name}\n"
        );
        if !namespace.is_empty() {
            text = format!("{text}  namespace: {namespace}\n");
        }
        let document = sluice_yaml::parse(text.as_bytes())?.into_iter().next();
        let document = document.ok_or_else(|| Failure::new("the account has no document"))?;
        Ok(Resource::new(document.root))
    }
}
