//! How long a pass over a Kustomization may take, and when it is tried again.

use std::time::Duration;

use sluice_api::kustomize::kustomization::KustomizationSpec;

/// The least time a pass may take; what is asked for below it counts as this.
const LEAST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long building, applying and waiting may take: what is asked for, or a little less than the interval.
pub(super) fn timeout(spec: &KustomizationSpec) -> Duration {
    let asked = spec.timeout.unwrap_or(spec.interval).to_std();
    let timeout = if spec.timeout.is_some() { asked } else { asked.saturating_sub(LEAST_TIMEOUT) };
    timeout.max(LEAST_TIMEOUT)
}

/// When to try again after a failure.
pub(super) fn retry_interval(spec: &KustomizationSpec) -> Duration {
    spec.retry_interval.unwrap_or(spec.interval).to_std()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluice_api::kustomize::kustomization::KustomizationSpec;
    use sluice_base::duration::GoDuration;

    use super::{retry_interval, timeout};

    #[test]
    fn times_follow_the_interval() {
        let cases = [
            ("10m", None, Duration::from_secs(570)),
            ("40s", None, Duration::from_secs(30)),
            ("10m", Some("1m"), Duration::from_mins(1)),
            ("10m", Some("5s"), Duration::from_secs(30)),
        ];
        for (interval, asked, expected) in cases {
            let spec = KustomizationSpec {
                interval: GoDuration::parse(interval).unwrap(),
                timeout: asked.map(|asked| GoDuration::parse(asked).unwrap()),
                ..KustomizationSpec::default()
            };
            assert_eq!(timeout(&spec), expected, "{interval} {asked:?}");
            assert_eq!(retry_interval(&spec), spec.interval.to_std());
        }
    }
}
