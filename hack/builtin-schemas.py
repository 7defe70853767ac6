#!/usr/bin/env python3
"""Writes crates/plane/src/builtin/schemas.json: the facts of a server's published schemas, without their prose.

Usage: hack/builtin-schemas.py DIR > crates/plane/src/builtin/schemas.json
where DIR holds the documents of /openapi/v3 (`kubectl get --raw /openapi/v3/apis/apps/v1 > DIR/apps_v1.json`).

Kept: types, formats, enums, required, scalar defaults, list and map types, merge keys and strategies, the kind a
schema is of. Dropped: descriptions, list kinds, and the empty defaults that say "zero value of a Go struct".
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


def main(folder):
    definitions = {}
    for name in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(name, encoding="utf-8") as document:
            for key, schema in json.load(document)["components"]["schemas"].items():
                kinds = schema.get("x-kubernetes-group-version-kind", [])
                if any(kind["kind"].endswith("List") for kind in kinds):
                    continue
                definitions[key] = facts(schema)
                if len(kinds) == 1:
                    definitions[key]["x-kubernetes-group-version-kind"] = kinds
    lines = (json.dumps(key) + ":" + json.dumps(definitions[key], sort_keys=True, separators=(",", ":"))
             for key in sorted(definitions))
    print("{\n" + ",\n".join(lines) + "\n}")


main(sys.argv[1])
