"""A session with the Python client: typed, custom and dynamic; the same on the plane and on a real server."""

import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException

NAMESPACE = "python"


def expect(code, call, *arguments, **options):
    """The call must be refused with this code; the refusal is a Status."""
    try:
        call(*arguments, **options)
    except ApiException as refusal:
        assert refusal.status == code, f"{refusal.status} instead of {code}: {refusal.body}"
        assert '"kind":"Status"' in refusal.body.replace(" ", ""), refusal.body
        return
    raise AssertionError(f"{call.__name__} was not refused")


def until(wanted, call, *arguments, **options):
    for _ in range(600):
        answer = call(*arguments, **options)
        if wanted(answer):
            return answer
        time.sleep(0.1)
    raise AssertionError(f"{call.__name__} never became as wanted: {answer}")


def deployment():
    container = client.V1Container(name="c", image="i:1", env=[client.V1EnvVar(name="A", value="1")])
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": "web"}), spec=client.V1PodSpec(containers=[container])
    )
    selector = client.V1LabelSelector(match_labels={"app": "web"})
    spec = client.V1DeploymentSpec(replicas=2, selector=selector, template=template)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)


def objects(core):
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    made = core.create_namespaced_config_map(
        NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="c", labels={"l": "1"}), data={"a": "1"})
    )
    assert made.metadata.uid and made.metadata.creation_timestamp
    patched = core.patch_namespaced_config_map("c", NAMESPACE, {"data": {"a": None, "b": "2"}})
    assert patched.data == {"b": "2"}, patched.data
    made.data = {"stale": "1"}
    expect(409, core.replace_namespaced_config_map, "c", NAMESPACE, made)
    patched.data = {"fresh": "1"}
    assert core.replace_namespaced_config_map("c", NAMESPACE, patched).data == {"fresh": "1"}
    assert [o.metadata.name for o in core.list_namespaced_config_map(NAMESPACE, label_selector="l=1").items] == ["c"]
    expect(404, core.read_namespaced_config_map, "none", NAMESPACE)
    expect(422, core.create_namespaced_config_map, NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="A B")))
    seen = []
    watcher = watch.Watch()
    start = core.list_namespaced_secret(NAMESPACE).metadata.resource_version
    core.create_namespaced_secret(
        NAMESPACE, client.V1Secret(metadata=client.V1ObjectMeta(name="s"), string_data={"k": "v"})
    )
    core.delete_namespaced_secret("s", NAMESPACE)
    for event in watcher.stream(core.list_namespaced_secret, NAMESPACE, resource_version=start, timeout_seconds=30):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            watcher.stop()
    assert seen == [("ADDED", "s"), ("DELETED", "s")], seen


def workloads(core, apps):
    apps.create_namespaced_deployment(NAMESPACE, deployment())
    ready = until(lambda d: d.status.available_replicas == 2, apps.read_namespaced_deployment, "web", NAMESPACE)
    assert ready.spec.strategy.type == "RollingUpdate"
    # A list is a strategic merge patch to this client: the other variable stays.
    body = {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "B", "value": "2"}]}]}}}}
    patched = apps.patch_namespaced_deployment("web", NAMESPACE, body)
    assert sorted(e.name for e in patched.spec.template.spec.containers[0].env) == ["A", "B"]
    apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 1}})
    assert apps.read_namespaced_deployment_scale("web", NAMESPACE).spec.replicas == 1
    apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Foreground")
    until(lambda pods: not pods.items, core.list_namespaced_pod, NAMESPACE)


def custom(api):
    definitions, objects = client.ApiextensionsV1Api(api), client.CustomObjectsApi(api)
    group, plural, kind = "python.example.com", "birds", "Bird"
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"wings": {"type": "integer", "default": 2}}},
                       "status": {"type": "object", "properties": {"flies": {"type": "boolean"}}}},
    }
    version = client.V1CustomResourceDefinitionVersion(
        name="v1", served=True, storage=True,
        schema=client.V1CustomResourceValidation(open_apiv3_schema=schema),
        subresources=client.V1CustomResourceSubresources(status={}),
    )
    names = client.V1CustomResourceDefinitionNames(plural=plural, singular="bird", kind=kind)
    spec = client.V1CustomResourceDefinitionSpec(group=group, scope="Namespaced", names=names, versions=[version])
    name = f"{plural}.{group}"
    definitions.create_custom_resource_definition(
        client.V1CustomResourceDefinition(metadata=client.V1ObjectMeta(name=name), spec=spec)
    )
    established = lambda d: any(c.type == "Established" and c.status == "True" for c in d.status.conditions or [])
    until(established, definitions.read_custom_resource_definition, name)
    place = (group, "v1", NAMESPACE, plural)
    bird = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "owl"}, "spec": {}}
    for attempt in range(100):
        try:
            made = objects.create_namespaced_custom_object(*place, bird)
            break
        except ApiException as refusal:  # a definition may be established a moment before it is served
            if refusal.status != 404 or attempt == 99:
                raise
            time.sleep(0.1)
    assert made["spec"] == {"wings": 2}, made
    patched = objects.patch_namespaced_custom_object(*place, "owl", {"spec": {"wings": 3}})
    assert patched["metadata"]["generation"] == 2
    objects.patch_namespaced_custom_object_status(*place, "owl", {"status": {"flies": True}})
    assert objects.get_namespaced_custom_object_status(*place, "owl")["status"] == {"flies": True}
    expect(422, objects.patch_namespaced_custom_object, *place, "owl", {"spec": {"wings": "two"}})
    birds = dynamic.DynamicClient(api).resources.get(api_version=f"{group}/v1", kind=kind)
    applied = birds.server_side_apply(
        body={**bird, "spec": {"wings": 4}}, name="owl", namespace=NAMESPACE,
        field_manager="session", force_conflicts=True,
    )
    assert applied.spec.wings == 4
    assert any(entry.manager == "session" and entry.operation == "Apply" for entry in applied.metadata.managedFields)
    assert [b.metadata.name for b in birds.get(namespace=NAMESPACE).items] == ["owl"]
    definitions.delete_custom_resource_definition(name)


def main():
    api = config.new_client_from_config()
    core, apps = client.CoreV1Api(api), client.AppsV1Api(api)
    assert int(client.VersionApi(api).get_code().minor.rstrip("+")) >= 30
    objects(core)
    workloads(core, apps)
    utils.create_from_dict(
        api, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}},
        namespace=NAMESPACE,
    )
    assert core.read_namespaced_service("s", NAMESPACE).spec.cluster_ip
    custom(api)
    core.delete_namespace(NAMESPACE)
    for _ in range(600):
        try:
            core.read_namespace(NAMESPACE)
        except ApiException as gone:
            assert gone.status == 404
            return
        time.sleep(0.1)
    raise AssertionError("the namespace stays")


main()
