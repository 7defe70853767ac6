use super::*;

fn defaulted(group: &str, version: &str, kind: &str, mut object: Value) -> Value {
    let gvk = GroupVersionKind::new(group, version, kind);
    default(&gvk, &mut object);
    super::super::normalize(&gvk, &mut object);
    object
}

#[test]
fn a_deployment_is_filled_in() {
    let object = defaulted(
        "apps",
        "v1",
        "Deployment",
        json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1.2", "ports": [{"containerPort": 80}],
                "readinessProbe": {"httpGet": {"port": 80}},
                "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}],
                "volumes": [{"name": "e"}, {"name": "s", "secret": {"secretName": "x"}}]}}}}),
    );
    assert_eq!(
        object,
        json!({"metadata": {"name": "web"}, "status": {}, "spec": {
            "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {},
                "terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler",
                "containers": [{"name": "c", "image": "nginx:1.2", "imagePullPolicy": "IfNotPresent", "resources": {},
                    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "env": [{"name": "N", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
                    "readinessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1,
                        "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}}],
                "volumes": [{"name": "e", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "x", "defaultMode": 420}}]}}}})
    );
}

#[test]
fn pull_policies_follow_the_tag() {
    for (image, policy) in [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("reg:5000/nginx", "Always"),
        ("reg:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
    ] {
        assert_eq!(pull_policy(image), policy, "{image}");
    }
}

#[test]
fn kinds_get_what_the_table_says() {
    let spec = |group: &str, version: &str, kind: &str, spec: Value| {
        defaulted(group, version, kind, json!({"spec": spec}))["spec"].clone()
    };
    let job = spec("batch", "v1", "Job", json!({}));
    assert_eq!(
        (&job["completions"], &job["parallelism"], &job["backoffLimit"]),
        (&json!(1), &json!(1), &json!(6))
    );
    assert_eq!(spec("batch", "v1", "Job", json!({"parallelism": 2})).get("completions"), None);
    let cron = spec("batch", "v1", "CronJob", json!({"jobTemplate": {"spec": {"template": {"spec": {}}}}}));
    assert_eq!(cron["jobTemplate"]["spec"].get("backoffLimit"), None);
    assert_eq!(cron["jobTemplate"]["spec"]["template"]["spec"]["dnsPolicy"], "ClusterFirst");
    assert_eq!(cron["successfulJobsHistoryLimit"], 3);

    let service = spec(
        "",
        "v1",
        "Service",
        json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP", "ports": [{"port": 80}]}),
    );
    assert_eq!(service["ports"], json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]));
    assert_eq!(service["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"], 10800);
    assert_eq!(service["allocateLoadBalancerNodePorts"], true);
    assert_eq!(spec("", "v1", "Service", json!({"type": "ExternalName"})).get("internalTrafficPolicy"), None);

    let secret =
        defaulted("", "v1", "Secret", json!({"data": {"a": "eA=="}, "stringData": {"a": "y", "b": "z"}}));
    assert_eq!(secret, json!({"metadata": {}, "type": "Opaque", "data": {"a": "eQ==", "b": "eg=="}}));

    let binding = defaulted(
        "rbac.authorization.k8s.io",
        "v1",
        "RoleBinding",
        json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]}),
    );
    assert_eq!(binding["roleRef"]["apiGroup"], "rbac.authorization.k8s.io");
    assert_eq!(binding["subjects"][0]["apiGroup"], "rbac.authorization.k8s.io");
    assert_eq!(binding["subjects"][1].get("apiGroup"), None);

    let policy = spec("networking.k8s.io", "v1", "NetworkPolicy", json!({"podSelector": {}, "egress": [{}]}));
    assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
    let set = spec(
        "apps",
        "v1",
        "StatefulSet",
        json!({"template": {}, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]}),
    );
    assert_eq!(set["volumeClaimTemplates"][0]["status"], json!({"phase": "Pending"}));
    assert_eq!(set["volumeClaimTemplates"][0]["spec"]["volumeMode"], "Filesystem");
    assert_eq!(set["updateStrategy"], json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}));
    let hpa = spec("autoscaling", "v2", "HorizontalPodAutoscaler", json!({"maxReplicas": 3}));
    assert_eq!(hpa["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
    let pod = spec(
        "",
        "v1",
        "Pod",
        json!({"hostNetwork": true, "containers": [{"name": "c", "image": "i",
        "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}]}),
    );
    assert_eq!(pod["containers"][0]["ports"][0]["hostPort"], 80);
    assert_eq!(pod["containers"][0]["resources"]["requests"], json!({"cpu": "1"}));
    assert_eq!(pod["enableServiceLinks"], true);
    let webhook = defaulted(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        json!({"webhooks": [{"name": "a", "clientConfig": {"service": {"name": "s", "namespace": "n"}}, "rules": [{}]}]}),
    );
    assert_eq!(webhook["webhooks"][0]["clientConfig"]["service"]["port"], 443);
    assert_eq!(webhook["webhooks"][0]["rules"][0]["scope"], "*");
    assert_eq!(webhook["webhooks"][0]["reinvocationPolicy"], "Never");
}
