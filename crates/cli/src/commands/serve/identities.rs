//! The flags of workload identity: default service accounts, and the token cache.

use jiff::SignedDuration;
use sluice_base::duration::GoDuration;
use sluice_cloud::{CacheLimits, TrustedHost};
use sluice_controllers::context::Settings;
use sluice_controllers::identity::{Allowed, ControllerIdentity};
use sluice_controllers::table::Controller;

use crate::outcome::Failure;

/// The flags; all but the first have Flux's names.
#[derive(Debug, clap::Args)]
pub(super) struct Identities {
    /// The default service account of sources for clouds.
    #[arg(long, value_name = "NAME")]
    default_source_service_account: Option<String>,
    /// The objects that use the controllers' own identity: sources, decryption or kubeconfig, each with an optional
    /// :NAMESPACE or :NAMESPACE/NAME, or none.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "OBJECTS",
        default_value = "sources,decryption"
    )]
    controller_identity_for: Vec<Allowed>,
    /// Private endpoints of clouds that get tokens of identities, besides the clouds' own hosts.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    cloud_hosts: Vec<TrustedHost>,
    /// The maximum number of cached cloud tokens; 0 disables the cache.
    #[arg(long, value_name = "NUMBER", default_value_t = CacheLimits::default().size)]
    token_cache_max_size: usize,
    /// The maximum time a token is cached, at most an hour.
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    token_cache_max_duration: GoDuration,
}

impl Identities {
    /// Applies the flags. `--default-service-account` differs between source-controller and kustomize-controller; the former's
    /// meaning is used if the latter does not run.
    pub(super) fn apply(self, controllers: &[String], settings: &mut Settings) {
        let duration = SignedDuration::try_from(self.token_cache_max_duration.to_std());
        settings.controller_identity = ControllerIdentity(self.controller_identity_for);
        settings.cloud_hosts = self.cloud_hosts;
        settings.token_cache = CacheLimits {
            size: self.token_cache_max_size,
            duration: duration.unwrap_or(CacheLimits::LONGEST),
        };
        let applies =
            controllers.iter().any(|name| Controller::find(name).is_some_and(Controller::applies));
        let of_sources = if applies { None } else { settings.default_service_account.clone() };
        settings.default_source_service_account =
            self.default_source_service_account.or(of_sources);
    }
}

/// Whether the feature gate allows the defaults that are set.
pub(super) fn check(settings: &Settings) -> Result<(), Failure> {
    let defaults = [
        &settings.default_source_service_account,
        &settings.default_decryption_service_account,
        &settings.default_kubeconfig_service_account,
    ];
    let is_set = |name: &&Option<String>| name.as_ref().is_some_and(|name| !name.is_empty());
    if settings.object_level_workload_identity || !defaults.iter().any(is_set) {
        return Ok(());
    }
    Err(Failure::new("cannot set default service accounts when the feature gate ObjectLevelWorkloadIdentity is not enabled")
        .hint("add --feature-gates=ObjectLevelWorkloadIdentity=true"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use sluice_controllers::context::Settings;

    use super::{Identities, check};

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        identities: Identities,
    }

    fn settings(controllers: &[&str], flags: &[&str]) -> Settings {
        let mut settings =
            Settings { default_service_account: Some("tenant".to_owned()), ..Settings::default() };
        let flags = ["serve"].iter().chain(flags);
        let controllers: Vec<String> = controllers.iter().map(|&name| name.to_owned()).collect();
        Command::parse_from(flags).identities.apply(&controllers, &mut settings);
        settings
    }

    #[test]
    fn the_default_of_sources_is_not_that_of_applying() {
        let both = ["source-controller", "kustomize-controller"];
        let found = settings(&both, &[]);
        assert_eq!(found.default_source_service_account, None);
        assert!(check(&found).is_ok(), "who applies needs no gate");
        let found = settings(&both, &["--default-source-service-account=fetcher"]);
        assert_eq!(found.default_source_service_account.as_deref(), Some("fetcher"));
        let mut found = settings(&both[..1], &[]);
        assert_eq!(found.default_source_service_account.as_deref(), Some("tenant"));
        assert!(check(&found).is_err(), "the gate is closed");
        found.object_level_workload_identity = true;
        assert!(check(&found).is_ok());
    }

    #[test]
    fn the_controllers_identity_is_for_sources_and_decryption_unless_said() {
        use sluice_controllers::identity::ControllerIdentity;
        let found = settings(&[], &[]);
        assert_eq!(found.controller_identity, ControllerIdentity::default());
        assert!(found.cloud_hosts.is_empty());
        let found = settings(
            &[],
            &[
                "--controller-identity-for=kubeconfig:fleet/prod",
                "--cloud-hosts=a.test,b.test:8443",
            ],
        );
        let shown: Vec<String> =
            found.controller_identity.0.iter().map(ToString::to_string).collect();
        assert_eq!((shown, found.cloud_hosts.len()), (vec!["kubeconfig:fleet/prod".to_owned()], 2));
        for wrong in ["--controller-identity-for=all", "--cloud-hosts=a/b"] {
            assert!(Command::try_parse_from(["serve", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_cache_has_flux_limits_unless_told() {
        let found = settings(&[], &[]).token_cache;
        assert_eq!((found.size, found.duration.as_mins()), (100, 60));
        let flags = ["--token-cache-max-size=0", "--token-cache-max-duration=5m"];
        let found = settings(&[], &flags).token_cache;
        assert_eq!((found.size, found.duration.as_mins()), (0, 5));
    }
}
