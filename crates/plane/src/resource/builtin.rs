//! The built-in kinds, as one table.

use std::sync::Arc;

use super::Scope::{Cluster, Namespaced};
use super::{GroupVersionKind, Names, Naming, Resource, Scope, Subresource, Traits, prefix, selectable};
use crate::store::TableId;

const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const NO_COLLECTION: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const CREATE: &[&str] = &["create"];

/// One row.
struct Row {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
    scope: Scope,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    verbs: &'static [&'static str],
    subresources: &'static [Sub],
    traits: Traits,
    /// The version and group whose table holds the objects, where it is another's.
    kept_as: Option<(&'static str, &'static str)>,
}

/// A subresource: name, kind (empty for the resource's own) and verbs.
struct Sub(&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

const RWU: &[&str] = &["get", "patch", "update"];
const STATUS: Sub = Sub("status", "", "", "", RWU);
const SCALE: Sub = Sub("scale", "autoscaling", "v1", "Scale", RWU);

const PLAIN: Traits = Traits {
    generation: false,
    unconditional_update: true,
    create_on_update: false,
    returns_deleted: false,
    stored: true,
    naming: Naming::Subdomain,
};

const fn row(
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
    scope: Scope,
) -> Row {
    Row {
        group,
        version,
        plural,
        kind,
        scope,
        short: &[],
        categories: &[],
        verbs: ALL,
        subresources: &[],
        traits: PLAIN,
        kept_as: None,
    }
}

impl Row {
    const fn short(mut self, short: &'static [&'static str]) -> Self {
        self.short = short;
        self
    }

    const fn all(mut self) -> Self {
        self.categories = &["all"];
        self
    }

    const fn extensions(mut self) -> Self {
        self.categories = &["api-extensions"];
        self
    }

    const fn sub(mut self, subresources: &'static [Sub]) -> Self {
        self.subresources = subresources;
        self
    }

    const fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
        self.verbs = verbs;
        self
    }

    const fn generation(mut self) -> Self {
        self.traits.generation = true;
        self
    }

    const fn conditional(mut self) -> Self {
        self.traits.unconditional_update = false;
        self
    }

    const fn upsert(mut self) -> Self {
        self.traits.create_on_update = true;
        self
    }

    const fn returns(mut self) -> Self {
        self.traits.returns_deleted = true;
        self
    }

    const fn naming(mut self, naming: Naming) -> Self {
        self.traits.naming = naming;
        self
    }

    const fn computed(mut self) -> Self {
        self.traits.stored = false;
        self.verbs = CREATE;
        self
    }

    const fn kept_as(mut self, group: &'static str, version: &'static str) -> Self {
        self.kept_as = Some((group, version));
        self
    }
}

const STREAM: &[&str] = &["create", "get"];
const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// In discovery's order: groups as the real server lists them, resources by name.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    row("", "v1", "configmaps", "ConfigMap", Namespaced).short(&["cm"]),
    row("", "v1", "endpoints", "Endpoints", Namespaced).short(&["ep"]).upsert(),
    row("", "v1", "events", "Event", Namespaced).short(&["ev"]).upsert(),
    row("", "v1", "limitranges", "LimitRange", Namespaced).short(&["limits"]).upsert(),
    row("", "v1", "namespaces", "Namespace", Cluster).short(&["ns"]).verbs(NO_COLLECTION).returns().naming(Naming::Label)
        .sub(&[Sub("finalize", "", "", "", &["update"]), STATUS]),
    row("", "v1", "nodes", "Node", Cluster).short(&["no"]).sub(&[STATUS]),
    row("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", Namespaced).short(&["pvc"]).returns().sub(&[STATUS]),
    row("", "v1", "persistentvolumes", "PersistentVolume", Cluster).short(&["pv"]).returns().sub(&[STATUS]),
    row("", "v1", "pods", "Pod", Namespaced).short(&["po"]).all().generation().returns().sub(&[
        Sub("attach", "", "v1", "PodAttachOptions", STREAM),
        Sub("exec", "", "v1", "PodExecOptions", STREAM),
        Sub("log", "", "", "", &["get"]),
        Sub("portforward", "", "v1", "PodPortForwardOptions", STREAM),
        STATUS,
    ]),
    row("", "v1", "podtemplates", "PodTemplate", Namespaced).generation().returns(),
    row("", "v1", "replicationcontrollers", "ReplicationController", Namespaced).short(&["rc"]).all().generation().sub(&[SCALE, STATUS]),
    row("", "v1", "resourcequotas", "ResourceQuota", Namespaced).short(&["quota"]).returns().sub(&[STATUS]),
    row("", "v1", "secrets", "Secret", Namespaced),
    row("", "v1", "serviceaccounts", "ServiceAccount", Namespaced).short(&["sa"]).returns()
        .sub(&[Sub("token", "authentication.k8s.io", "v1", "TokenRequest", &["create"])]),
    row("", "v1", "services", "Service", Namespaced).short(&["svc"]).all().upsert().returns().naming(Naming::Label).sub(&[STATUS]),

    row("apps", "v1", "controllerrevisions", "ControllerRevision", Namespaced),
    row("apps", "v1", "daemonsets", "DaemonSet", Namespaced).short(&["ds"]).all().generation().sub(&[STATUS]),
    row("apps", "v1", "deployments", "Deployment", Namespaced).short(&["deploy"]).all().generation().sub(&[SCALE, STATUS]),
    row("apps", "v1", "replicasets", "ReplicaSet", Namespaced).short(&["rs"]).all().generation().sub(&[SCALE, STATUS]),
    row("apps", "v1", "statefulsets", "StatefulSet", Namespaced).short(&["sts"]).all().generation().sub(&[SCALE, STATUS]),

    row("events.k8s.io", "v1", "events", "Event", Namespaced).short(&["ev"]).upsert().kept_as("", "v1"),

    row("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", Cluster).computed(),
    row("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", Cluster).computed(),

    row("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", Namespaced).computed(),
    row("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", Cluster).computed(),
    row("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", Cluster).computed(),
    row("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", Cluster).computed(),

    row("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", Namespaced).short(&["hpa"]).all().sub(&[STATUS]),
    row("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", Namespaced).short(&["hpa"]).all().sub(&[STATUS])
        .kept_as("autoscaling", "v2"),

    row("batch", "v1", "cronjobs", "CronJob", Namespaced).short(&["cj"]).all().generation().sub(&[STATUS]),
    row("batch", "v1", "jobs", "Job", Namespaced).all().generation().sub(&[STATUS]),

    row("networking.k8s.io", "v1", "ingressclasses", "IngressClass", Cluster).generation(),
    row("networking.k8s.io", "v1", "ingresses", "Ingress", Namespaced).short(&["ing"]).generation().sub(&[STATUS]),
    row("networking.k8s.io", "v1", "ipaddresses", "IPAddress", Cluster).short(&["ip"]),
    row("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", Namespaced).short(&["netpol"]).generation(),
    row("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", Cluster).sub(&[STATUS]),

    row("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", Namespaced).short(&["pdb"]).generation().conditional().sub(&[STATUS]),

    row(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", Cluster).upsert().naming(Naming::PathSegment),
    row(RBAC, "v1", "clusterroles", "ClusterRole", Cluster).upsert().naming(Naming::PathSegment),
    row(RBAC, "v1", "rolebindings", "RoleBinding", Namespaced).upsert().naming(Naming::PathSegment),
    row(RBAC, "v1", "roles", "Role", Namespaced).upsert().naming(Naming::PathSegment),

    row("storage.k8s.io", "v1", "csidrivers", "CSIDriver", Cluster),
    row("storage.k8s.io", "v1", "csinodes", "CSINode", Cluster),
    row("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity", Namespaced),
    row("storage.k8s.io", "v1", "storageclasses", "StorageClass", Cluster).short(&["sc"]),
    row("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", Cluster).sub(&[STATUS]),
    row("storage.k8s.io", "v1", "volumeattributesclasses", "VolumeAttributesClass", Cluster).short(&["vac"]),

    row(ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", Cluster).extensions().generation().conditional(),
    row(ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", Cluster).extensions().generation().conditional().sub(&[STATUS]),
    row(ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", Cluster).extensions().generation().conditional(),
    row(ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", Cluster).extensions().generation().conditional(),

    row("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", Cluster).short(&["crd", "crds"])
        .extensions().generation().conditional().sub(&[STATUS]),

    row("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", Cluster).short(&["pc"]).generation(),

    row("coordination.k8s.io", "v1", "leases", "Lease", Namespaced).upsert().conditional(),

    row("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", Namespaced).generation(),

];

/// Every built-in resource, in discovery's order.
pub(super) fn resources() -> Vec<Arc<Resource>> {
    TABLE.iter().map(|row| Arc::new(row.build())).collect()
}

impl Row {
    fn build(&self) -> Resource {
        let gvk = GroupVersionKind::new(self.group, self.version, self.kind);
        let api_version: Arc<str> = gvk.api_version().into();
        let subresources = self
            .subresources
            .iter()
            .map(|Sub(name, group, version, kind, verbs)| Subresource {
                name: (*name).into(),
                kind: match (*version, *kind) {
                    (_, "") => gvk.clone(),
                    ("", kind) => GroupVersionKind::new(self.group, self.version, kind),
                    (version, kind) => GroupVersionKind::new(group, version, kind),
                },
                verbs: verbs.to_vec(),
            })
            .collect();
        let (kept_group, kept_version) = self.kept_as.unwrap_or((self.group, self.version));
        Resource {
            names: Names {
                group: self.group.into(),
                plural: self.plural.into(),
                singular: self.kind.to_lowercase().into(),
                kind: self.kind.into(),
                list_kind: format!("{}List", self.kind).into(),
            },
            prefix: prefix(self.kind, &api_version),
            gvk,
            api_version,
            scope: self.scope,
            short_names: self.short.iter().map(|s| (*s).into()).collect(),
            categories: self.categories.iter().map(|s| (*s).into()).collect(),
            verbs: self.verbs,
            subresources,
            table: TableId::new(kept_group, self.plural),
            stored_version: kept_version.into(),
            traits: self.traits,
            fields: selectable::builtin(self.group, self.kind),
            custom: None,
        }
    }
}
