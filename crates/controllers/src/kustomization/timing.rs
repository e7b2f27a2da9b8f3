//! When a Kustomization is due, and how long it may take.

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

/// When to look again after a success: the interval, moved by up to `percent` either way. `chance` is
/// between 0 and 1.
pub(super) fn next_interval(spec: &KustomizationSpec, percent: u8, chance: f64) -> Duration {
    crate::timing::jittered(spec.interval.to_std(), percent, chance)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluice_api::kustomize::kustomization::KustomizationSpec;
    use sluice_base::duration::GoDuration;

    use super::{next_interval, retry_interval, timeout};

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
            assert_eq!(next_interval(&spec, 5, 0.5), spec.interval.to_std());
            assert!(next_interval(&spec, 5, 0.0) < spec.interval.to_std());
        }
    }
}
