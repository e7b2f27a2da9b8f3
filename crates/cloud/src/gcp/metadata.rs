//! The metadata service of Google Cloud, and the GKE cluster of this machine.

use futures::lock::Mutex;
use http::Method;

use crate::web::Marking;
use crate::{Asking, CloudError};

/// Requests a value.
pub(super) async fn metadata(asking: &Asking<'_>, path: &str) -> Result<String, CloudError> {
    let marking = Marking(asking.http);
    let asking = &asking.of_machine(&marking);
    let host = asking.environment.address("GCE_METADATA_HOST", "169.254.169.254");
    let url = format!("http://{host}/computeMetadata/v1/{path}");
    let answer =
        asking.send(Method::GET, &url, &[("metadata-flavor", "Google")], Vec::new()).await?;
    let text = String::from_utf8_lossy(answer.body()).trim().to_owned();
    match answer.status().as_u16() {
        200 => Ok(text),
        404 => Err(CloudError(format!("metadata: GCE metadata \"{path}\" not defined"))),
        code => Err(CloudError(format!(
            "compute: Received {code} `{}`",
            text.chars().take(512).collect::<String>()
        ))),
    }
}

/// The GKE cluster of this process, if any. Requested once, because it does not change.
#[derive(Default)]
pub(crate) struct Gke(Mutex<Option<Place>>);

#[derive(Clone)]
struct Place {
    project: String,
    location: String,
    name: String,
}

impl Gke {
    async fn place(&self, asking: &Asking<'_>) -> Result<Place, CloudError> {
        let mut known = self.0.lock().await;
        if let Some(place) = &*known {
            return Ok(place.clone());
        }
        let about = |what: &'static str, path: &'static str| async move {
            let failed = |problem: CloudError| {
                problem.while_trying(&format!(
                    "failed to get GKE cluster {what} from the metadata service"
                ))
            };
            let value = metadata(asking, path).await.map_err(failed)?;
            if value.is_empty() {
                return Err(failed(CloudError("empty value".to_owned())));
            }
            Ok(value)
        };
        let place = Place {
            project: about("project ID", "project/project-id").await?,
            location: about("location", "instance/attributes/cluster-location").await?,
            name: about("name", "instance/attributes/cluster-name").await?,
        };
        *known = Some(place.clone());
        Ok(place)
    }

    /// The audience of service account tokens for Google.
    pub(crate) async fn pool(&self, asking: &Asking<'_>) -> Result<String, CloudError> {
        Ok(format!("{}.svc.id.goog", self.place(asking).await?.project))
    }

    /// The audience of the cluster's workload identity provider.
    pub(crate) async fn audience(&self, asking: &Asking<'_>) -> Result<String, CloudError> {
        let Place { project, location, name } = self.place(asking).await?;
        Ok(format!(
            "identitynamespace:{project}.svc.id.goog:https://container.googleapis.com/v1/projects/{project}/locations/{location}/clusters/{name}"
        ))
    }
}
