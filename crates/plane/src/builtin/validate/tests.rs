use super::*;
use serde_json::json;

fn texts(group: &str, version: &str, kind: &str, object: &Value) -> Vec<String> {
    let gvk = GroupVersionKind::new(group, version, kind);
    let mut object = object.clone();
    crate::builtin::default(&gvk, &mut object);
    crate::builtin::normalize(&gvk, &mut object);
    let mut texts: Vec<String> = validate_create(&gvk, &object).iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

fn changed(group: &str, kind: &str, old: &Value, change: impl Fn(&mut Value)) -> Vec<String> {
    let gvk = GroupVersionKind::new(group, "v1", kind);
    let mut old = old.clone();
    crate::builtin::default(&gvk, &mut old);
    crate::builtin::normalize(&gvk, &mut old);
    let mut new = old.clone();
    change(&mut new);
    validate_update(&gvk, &new, &old).iter().map(ToString::to_string).collect()
}

fn deployment(pod: Value) -> Value {
    json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}})
}

fn with_container(container: Value) -> Vec<String> {
    let mut all = json!({"name": "c", "image": "i"});
    all.as_object_mut().unwrap().extend(container.as_object().unwrap().clone());
    texts("apps", "v1", "Deployment", &deployment(json!({"containers": [all]})))
}

#[test]
fn pods_are_refused_in_the_servers_words() {
    const C: &str = "spec.template.spec.containers[0]";
    assert_eq!(
        texts("apps", "v1", "Deployment", &deployment(json!({"containers": [{"name": "c", "image": "i"}]}))),
        Vec::<String>::new()
    );
    assert_eq!(
        texts("apps", "v1", "Deployment", &deployment(json!({}))),
        ["spec.template.spec.containers: Required value"]
    );
    assert_eq!(
        texts("apps", "v1", "Deployment", &json!({"metadata": {"name": "d"}, "spec": {"template": {}}})),
        [
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
            "spec.template.spec.containers: Required value"
        ]
    );
    assert_eq!(with_container(json!({"image": ""})), [format!("{C}.image: Required value")]);
    assert_eq!(
        texts("", "v1", "Pod", &json!({"spec": {"containers": [{"name": "c", "image": " x"}]}})),
        ["spec.containers[0].image: Invalid value: \" x\": must not have leading or trailing whitespace"]
    );
    assert_eq!(
        with_container(
            json!({"ports": [{"containerPort": 70000}, {"containerPort": 1, "name": "p"}, {"containerPort": 2, "name": "p"}, {"containerPort": 3, "protocol": "FOO"}]})
        ),
        [
            format!(
                "{C}.ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"
            ),
            format!("{C}.ports[2].name: Duplicate value: \"p\""),
            format!(
                "{C}.ports[3].protocol: Unsupported value: \"FOO\": supported values: \"SCTP\", \"TCP\", \"UDP\""
            )
        ]
    );
    assert_eq!(
        with_container(
            json!({"envFrom": [{}], "env": [{"value": "x"}, {"name": "a=b"}, {"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "B", "valueFrom": {}}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "spec.foo"}}}]})
        ),
        [
            format!("{C}.envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"),
            format!("{C}.env[0].name: Required value"),
            format!(
                "{C}.env[1].name: Invalid value: \"a=b\": a valid environment variable name must consist only of printable ASCII characters other than '='"
            ),
            format!(
                "{C}.env[2].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty"
            ),
            format!(
                "{C}.env[3].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            ),
            format!(
                "{C}.env[4].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.foo\": error converting fieldPath: field label not supported: spec.foo"
            )
        ]
    );
    assert_eq!(
        with_container(
            json!({"resources": {"limits": {"cpu": "1", "foo": "1"}, "requests": {"cpu": "2", "a.io/b": "1"}}})
        ),
        [
            format!(
                "{C}.resources.limits: Required value: Limit must be set for non overcommitable resources"
            ),
            format!(
                "{C}.resources.limits[foo]: Invalid value: \"foo\": must be a standard resource for containers"
            ),
            format!(
                "{C}.resources.limits[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified"
            ),
            format!(
                "{C}.resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"
            )
        ]
    );
    assert_eq!(
        with_container(
            json!({"livenessProbe": {"exec": {}, "httpGet": {"port": 1}, "successThreshold": 2}, "readinessProbe": {}})
        ),
        [
            format!("{C}.livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type"),
            format!("{C}.livenessProbe.successThreshold: Invalid value: 2: must be 1"),
            format!("{C}.readinessProbe: Required value: must specify a handler type")
        ]
    );
    assert_eq!(
        with_container(
            json!({"imagePullPolicy": "Foo", "securityContext": {"runAsUser": -1, "seccompProfile": {"type": "Foo"}}})
        ),
        [
            format!(
                "{C}.imagePullPolicy: Unsupported value: \"Foo\": supported values: \"Always\", \"IfNotPresent\", \"Never\""
            ),
            format!(
                "{C}.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"
            ),
            format!(
                "{C}.securityContext.seccompProfile.type: Unsupported value: \"Foo\": supported values: \"Localhost\", \"RuntimeDefault\", \"Unconfined\""
            )
        ]
    );
    let volumes = deployment(
        json!({"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "none", "mountPath": "/x"}, {"name": "v", "mountPath": "/y"}, {"name": "v", "mountPath": "/y"}]}],
        "volumes": [{"name": "v"}, {"name": "v", "emptyDir": {}, "configMap": {"name": "c"}}, {"name": "s", "secret": {"defaultMode": 9999}}, {"name": "p", "persistentVolumeClaim": {}}],
        "restartPolicy": "Never", "tolerations": [{"effect": "NoExecute"}]}),
    );
    assert_eq!(
        texts("apps", "v1", "Deployment", &volumes),
        [format!("{C}.volumeMounts[0].name: Not found: \"none\""),
         format!("{C}.volumeMounts[2].mountPath: Invalid value: \"/y\": must be unique"),
         "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"".into(),
         "spec.template.spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"".into(),
         "spec.template.spec.volumes[1].configMap: Forbidden: may not specify more than 1 volume type".into(),
         "spec.template.spec.volumes[1].name: Duplicate value: \"v\"".into(),
         "spec.template.spec.volumes[2].secret.defaultMode: Invalid value: 9999: must be a number between 0 and 0777 (octal), both inclusive".into(),
         "spec.template.spec.volumes[2].secret.secretName: Required value".into(),
         "spec.template.spec.volumes[3].persistentVolumeClaim.claimName: Required value".into()]
    );
}

#[test]
fn workloads_are_refused_in_the_servers_words() {
    let spec = |extra: Value| {
        let mut object = deployment(json!({"containers": [{"name": "c", "image": "i"}]}));
        object["spec"].as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        texts("apps", "v1", "Deployment", &object)
    };
    assert_eq!(
        spec(json!({"selector": {}})),
        ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]
    );
    assert_eq!(
        spec(json!({"selector": {"matchLabels": {"a": "c"}}})),
        [
            "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"
        ]
    );
    assert_eq!(
        spec(json!({"replicas": -1})),
        ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]
    );
    assert_eq!(
        spec(json!({"strategy": {"type": "Foo"}})),
        [
            "spec.strategy: Unsupported value: {\"Type\":\"Foo\",\"RollingUpdate\":null}: supported values: \"Recreate\", \"RollingUpdate\""
        ]
    );
    assert_eq!(
        spec(json!({"strategy": {"type": "Recreate", "rollingUpdate": {}}})),
        ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"]
    );
    assert_eq!(
        spec(json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}})),
        ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"]
    );
    assert_eq!(
        spec(json!({"progressDeadlineSeconds": 5, "minReadySeconds": 5})),
        ["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"]
    );
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]});
    assert_eq!(
        texts(
            "batch",
            "v1",
            "CronJob",
            &json!({"metadata": {"name": "c"}, "spec": {"schedule": "60 * * * *", "timeZone": "Foo/Bar", "concurrencyPolicy": "X", "jobTemplate": {"spec": {"template": {"spec": pod}}}}})
        ),
        [
            "spec.concurrencyPolicy: Unsupported value: \"X\": supported values: \"Allow\", \"Forbid\", \"Replace\"",
            "spec.schedule: Invalid value: \"60 * * * *\": end of range (60) above maximum (59): 60",
            "spec.timeZone: Invalid value: \"Foo/Bar\": unknown time zone Foo/Bar"
        ]
    );
    assert_eq!(
        texts(
            "batch",
            "v1",
            "Job",
            &json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}})
        ),
        ["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""]
    );
    assert_eq!(
        texts(
            "autoscaling",
            "v2",
            "HorizontalPodAutoscaler",
            &json!({"spec": {"scaleTargetRef": {"name": "x"}}})
        ),
        [
            "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            "spec.maxReplicas: Required value: must be set and greater than 0",
            "spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group",
            "spec.scaleTargetRef.kind: Required value"
        ]
    );
}

#[test]
fn other_kinds_are_refused_in_the_servers_words() {
    let service = |spec: Value| texts("", "v1", "Service", &json!({"spec": spec}));
    assert_eq!(service(json!({})), ["spec.ports: Required value"]);
    assert_eq!(
        service(json!({"ports": [{"port": 80}, {"port": 81}]})),
        ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"]
    );
    assert_eq!(
        service(json!({"type": "Foo", "ports": [{"port": 80}]})),
        [
            "spec.type: Unsupported value: \"Foo\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\""
        ]
    );
    assert_eq!(service(json!({"type": "ExternalName"})), ["spec.externalName: Required value"]);
    assert_eq!(
        service(json!({"clusterIP": "x", "ports": [{"port": 80}]})),
        [
            "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        ]
    );
    assert_eq!(
        service(json!({"ports": [{"port": 80, "nodePort": 30001}]})),
        ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"]
    );
    assert_eq!(
        texts("", "v1", "PersistentVolumeClaim", &json!({"spec": {}})),
        [
            "spec.accessModes: Required value: at least 1 access mode is required",
            "spec.resources[storage]: Required value"
        ]
    );
    assert_eq!(
        texts("", "v1", "Secret", &json!({"type": "kubernetes.io/tls"})),
        ["data[tls.crt]: Required value", "data[tls.key]: Required value"]
    );
    assert_eq!(
        texts("", "v1", "ConfigMap", &json!({"data": {"x": "1"}, "binaryData": {"x": "eA=="}})),
        ["data[x]: Invalid value: \"x\": duplicate of key present in binaryData"]
    );
    const RBAC: &str = "rbac.authorization.k8s.io";
    assert_eq!(
        texts(
            RBAC,
            "v1",
            "RoleBinding",
            &json!({"roleRef": {"kind": "Foo", "name": "r"}, "subjects": [{"kind": "User"}, {"kind": "Bar", "name": "x"}]})
        ),
        [
            "roleRef.kind: Unsupported value: \"Foo\": supported values: \"Role\", \"ClusterRole\"",
            "subjects[0].name: Required value",
            "subjects[1].kind: Unsupported value: \"Bar\": supported values: \"ServiceAccount\", \"User\", \"Group\""
        ]
    );
    assert_eq!(
        texts(RBAC, "v1", "Role", &json!({"rules": [{}, {"verbs": ["get"], "nonResourceURLs": ["/x"]}]})),
        [
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
            "rules[0].verbs: Required value: verbs must contain at least one value",
            "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs"
        ]
    );
    assert_eq!(
        texts(
            "coordination.k8s.io",
            "v1",
            "Lease",
            &json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}})
        ),
        [
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"
        ]
    );
    assert_eq!(
        texts("networking.k8s.io", "v1", "Ingress", &json!({"spec": {}})),
        ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]
    );
}

#[test]
fn what_is_fixed_stays() {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]});
    let d = deployment(json!({"containers": [{"name": "c", "image": "i"}]}));
    assert_eq!(
        changed("apps", "Deployment", &d, |d| {
            d["spec"]["selector"]["matchLabels"]["c"] = json!("d");
            d["spec"]["template"]["metadata"]["labels"]["c"] = json!("d");
        }),
        ["spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"c\":\"d\"}}: field is immutable"]
    );
    assert_eq!(changed("apps", "Deployment", &d, |d| d["spec"]["replicas"] = json!(3)), Vec::<String>::new());
    assert!(
        changed("apps", "StatefulSet", &d, |d| d["spec"]["serviceName"] = json!("x"))[0]
            .starts_with("spec: Forbidden: updates to statefulset spec for fields other than")
    );
    let job = json!({"spec": {"template": {"spec": pod}}});
    assert_eq!(
        changed("batch", "Job", &job, |j| j["spec"]["completions"] = json!(5)),
        ["spec.completions: Invalid value: 5: field is immutable"]
    );
    assert_eq!(changed("batch", "Job", &job, |j| j["spec"]["parallelism"] = json!(5)), Vec::<String>::new());
    let binding = json!({"roleRef": {"kind": "Role", "name": "r"}});
    assert_eq!(
        changed("rbac.authorization.k8s.io", "RoleBinding", &binding, |b| b["roleRef"]["name"] =
            json!("other")),
        [
            "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"other\"}: cannot change roleRef"
        ]
    );
    let sealed = json!({"immutable": true, "data": {"a": "x"}});
    assert_eq!(
        changed("", "ConfigMap", &sealed, |c| c["data"]["a"] = json!("y")),
        ["data: Forbidden: field is immutable when `immutable` is set"]
    );
    assert_eq!(
        changed("", "ConfigMap", &sealed, |c| c["metadata"]["labels"] = json!({"a": "b"})),
        Vec::<String>::new()
    );
    let service =
        json!({"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80}]}});
    assert_eq!(
        changed("", "Service", &service, |s| s["spec"]["clusterIPs"] = json!(["10.0.0.77"])),
        ["spec.clusterIPs[0]: Invalid value: [\"10.0.0.77\"]: may not change once set"]
    );
    let claim =
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    assert!(
        changed("", "PersistentVolumeClaim", &claim, |c| c["spec"]["resources"]["requests"]["storage"] =
            json!("2Gi"))[0]
            .starts_with("spec: Forbidden: spec is immutable after creation")
    );
    let pod = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(
        changed("", "Pod", &pod, |p| p["spec"]["containers"][0]["image"] = json!("j")),
        Vec::<String>::new()
    );
    assert!(
        changed("", "Pod", &pod, |p| p["spec"]["hostname"] = json!("h"))[0]
            .starts_with("spec: Forbidden: pod updates may not change fields other than")
    );
}
