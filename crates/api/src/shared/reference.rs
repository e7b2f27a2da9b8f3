//! References from one object to another.

use crate::schema::{choice, object};

object! {
    /// An object in the same namespace.
    pub struct LocalObjectReference {
        /// Name of the object.
        pub name: String,
    }
}

object! {
    /// An object, perhaps in another namespace.
    pub struct NamespacedObjectReference {
        /// Name of the object.
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        pub namespace: Option<String>,
    }
}

object! {
    /// An object of any kind.
    pub struct ObjectKindReference {
        /// Group and version of the object.
        pub api_version: Option<String>,
        /// Kind of the object.
        pub kind: String,
        /// Name of the object.
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        pub namespace: Option<String>,
    }
}

object! {
    /// A key in a Secret of the same namespace.
    pub struct SecretKeyReference {
        /// The key; a well-known one when absent.
        pub key: Option<String>,
        /// Name of the Secret.
        pub name: String,
    }
}

object! {
    /// Access to another cluster.
    #[schema(
        rules = [
            (
                "has(self.configMapRef) || has(self.secretRef)",
                "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified",
            ),
            (
                "!has(self.configMapRef) || !has(self.secretRef)",
                "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified",
            ),
        ],
    )]
    pub struct KubeConfigReference {
        /// ConfigMap with the workload identity's authentication.
        pub config_map_ref: Option<LocalObjectReference>,
        /// Secret with a kubeconfig.
        pub secret_ref: Option<SecretKeyReference>,
    }
}

object! {
    /// An object that must be ready first.
    pub struct DependencyReference {
        /// Name of the object.
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        pub namespace: Option<String>,
        /// CEL expression over `dep` and `self` that decides readiness.
        pub ready_expr: Option<String>,
    }
}

choice! {
    /// Kinds that hold values.
    pub enum ValuesReferenceKind {
        Secret = "Secret",
        ConfigMap = "ConfigMap",
    }
}
