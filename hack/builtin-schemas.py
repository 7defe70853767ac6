#!/usr/bin/env python3
"""Writes crates/plane/src/builtin/schemas.json: the facts of a server's published schemas, without their prose.

Usage: hack/builtin-schemas.py DIR FIELDS > crates/plane/src/builtin/schemas.json
where DIR holds the documents of /openapi/v3 (`kubectl get --raw /openapi/v3/apis/apps/v1 > DIR/apps_v1.json`) and
FIELDS is the table of protobuf fields, whose flags tell how Go prints a field that has its zero value.

Kept: types, formats, enums, required, scalar defaults, list and map types, merge keys and strategies, the kind a
schema is of. Dropped: descriptions, list kinds, and the empty defaults that say "zero value of a Go struct".
`x-go` says what becomes of a field in a round trip through the Go struct: `omit` (left out when zero), `zero` (printed
even so), `null` (a list or a time printed as null when empty), `struct` (printed as {} when absent).
One definition per line, so that a new Kubernetes minor is a readable diff.
"""
import glob
import json
import os
import sys

PREFIX = "#/components/schemas/"
KEPT = ("type", "format", "enum", "required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type", "x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy")


def facts(schema):
    if not isinstance(schema, dict):
        return schema
    out = {key: schema[key] for key in KEPT if key in schema}
    if schema.get("default") not in (None, {}):
        out["default"] = schema["default"]
    ref = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", []) if "$ref" in part), None)
    if ref:
        out["$ref"] = ref.removeprefix(PREFIX)
    if "oneOf" in schema:
        out["oneOf"] = schema["oneOf"]
    if "properties" in schema:
        out["properties"] = {name: facts(value) for name, value in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            out[key] = facts(schema[key])
            if isinstance(out[key], dict):
                out[key].pop("default", None)
    return out


PACKAGES = {"io.k8s.api.": "", "io.k8s.apimachinery.pkg.apis.meta.v1.": "meta.",
            "io.k8s.apiextensions-apiserver.pkg.apis.": ""}
SCALARS = {"string": "", "bool": False, "int32": 0, "int64": 0, "bytes": "", "double": 0}
OPAQUE = ("meta.FieldsV1", "am.", "apiextensions.v1.JSON")
TIMES = ("meta.Time", "meta.MicroTime")
# Pointers that the table of fields does not mark as such, and the one message whose zero time is left out.
POINTERS = ("discovery.v1.EndpointConditions",)
TIMELESS = ("meta.ObjectMeta",)


def go(fields, messages):
    """The x-go facts of one message; fields of inlined messages count as its own."""
    out = {"omit": [], "zero": {}, "null": [], "struct": []}
    for name, kind, *flags in fields.values():
        flags = "".join(flags)
        if "^" in flags:
            for key, value in go(messages.get(kind, {}), messages).items():
                out[key].update(value) if key == "zero" else out[key].extend(value)
        elif "*" in flags or kind.startswith("map<"):
            out["null" if "!" in flags else "omit"].append(name)
        elif "?" in flags or name == "-":
            continue
        elif kind in SCALARS:
            if "!" in flags:
                out["zero"][name] = SCALARS[kind]
            else:
                out["omit"].append(name)
        elif kind in TIMES:
            out["null"].append(name)
        elif not kind.startswith(OPAQUE):
            out["struct"].append(name)
    return out


def main(folder, fields):
    definitions = {}
    with open(fields, encoding="utf-8") as table:
        messages = json.load(table)
    for name in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(name, encoding="utf-8") as document:
            for key, schema in json.load(document)["components"]["schemas"].items():
                kinds = schema.get("x-kubernetes-group-version-kind", [])
                if any(kind["kind"].endswith("List") for kind in kinds):
                    continue
                definitions[key] = facts(schema)
                if len(kinds) == 1:
                    definitions[key]["x-kubernetes-group-version-kind"] = kinds
                for package, prefix in PACKAGES.items():
                    message = prefix + key.removeprefix(package)
                    if key.startswith(package) and message in messages and message not in POINTERS:
                        found = {k: v for k, v in go(messages[message], messages).items() if v}
                        if message in TIMELESS:
                            found.pop("null", None)
                        definitions[key].update({"x-go": found} if found else {})
    lines = (json.dumps(key) + ":" + json.dumps(definitions[key], sort_keys=True, separators=(",", ":"))
             for key in sorted(definitions))
    print("{\n" + ",\n".join(lines) + "\n}")


main(sys.argv[1], sys.argv[2])
