//! A Helm chart. Each manifest is printed with template expressions in place of values; where it differs between
//! platforms both are printed, and the chart's values choose.
//!
//! Two things of `quintet install` are not in it: the namespace, which is Helm's business, and the ConfigMaps of the
//! originals' build settings, whose names depend on what is in them and which no manager reads.

use super::Files;
use crate::commands::install::{self, IMAGE, definitions, process};
use crate::output::{Format, document};
use crate::systems::Systems;
use anyhow::Result;
use quintet_kit::install::{Installed, Operator, Platform, Site, fused, split};
use quintet_kit::wiring::SystemRows;
use serde_json::{Map, Value, json};

const CHART: &str = concat!(
    "apiVersion: v2\n",
    "name: quintet\n",
    "description: One control plane for an AI platform.\n",
    "type: application\n",
    "version: ",
    env!("CARGO_PKG_VERSION"),
    "\nappVersion: ",
    env!("CARGO_PKG_VERSION"),
    "\n"
);

const NOTES: &str = "\
Quintet runs in namespace {{ .Release.Namespace }} ({{ .Values.shape }}): {{ join \", \" .Values.operators }}.

  kubectl -n {{ .Release.Namespace }} get pods
  kubectl get crds -l '!local.quintet.dev/stand-in'
";

const VALUES: &str = "\
# fused: one Deployment runs all systems. split: one for each, under the originals' names.
shape: fused
# kubernetes, or openshift: certificates from its service CA, metrics to its Prometheus.
platform: kubernetes
# Install the definitions of the kinds; they are kept when the release is deleted.
definitions: true
";

pub(super) fn files() -> Result<Files> {
    // Backquotes: the expressions end up inside YAML's double quotes.
    let systems = Systems::to_install("{{ .Release.Namespace }}")?;
    let plain = on(&systems, Platform::Kubernetes)?;
    let openshift = on(&systems, Platform::OpenShift)?;
    let mut templates: Vec<(String, String)> = vec![
        (
            "definitions".into(),
            guarded(
                "{{ if .Values.definitions }}",
                &both(&plain, &openshift, |site, all| {
                    let all: Vec<Installed<'_>> =
                        all.iter().map(|(operator, rows)| (operator, rows)).collect();
                    Ok(kept(definitions(&systems, site, &all)?))
                })?,
            ),
        ),
        (
            "fused".into(),
            guarded(
                "{{ if eq .Values.shape `fused` }}",
                &both(&plain, &openshift, |site, all| {
                    let all: Vec<Installed<'_>> =
                        all.iter().map(|(operator, rows)| (operator, rows)).collect();
                    Ok(fused(site, &process("{{ join `,` .Values.operators }}"), &all))
                })?,
            ),
        ),
    ];
    for (index, (operator, _)) in plain.1.iter().enumerate() {
        let name = operator.system;
        let condition =
            format!("{{{{ if and (eq .Values.shape `split`) (has `{name}` .Values.operators) }}}}");
        let text = both(&plain, &openshift, |site, all| Ok(split(site, (&all[index].0, &all[index].1))))?;
        templates.push((name.into(), guarded(&condition, &text)));
    }
    let mut files = Files::new();
    for (name, text) in templates {
        files.insert(format!("helm/quintet/templates/{name}.yaml"), text);
    }
    files.insert("helm/quintet/Chart.yaml".into(), CHART.into());
    files.insert("helm/quintet/values.yaml".into(), values(&systems)?);
    files.insert("helm/quintet/templates/NOTES.txt".into(), NOTES.into());
    Ok(files)
}

type Located = (Site, Vec<(Operator, SystemRows)>);

/// The systems at a site whose every value is an expression.
fn on(systems: &Systems, platform: Platform) -> Result<Located> {
    let site = Site {
        namespace: "{{ .Release.Namespace }}".into(),
        image: "{{ .Values.image }}".into(),
        platform,
        webhook_url: None,
    };
    let mut operators = install::operators(systems, &site)?;
    for (operator, _) in &mut operators {
        for (name, value) in operator.env.iter_mut().filter(|(name, _)| is_value(name)) {
            *value = format!("{{{{ index .Values.settings `{}` `{name}` }}}}", operator.system);
        }
    }
    Ok((site, operators))
}

/// True unless the setting decides which objects there are: then it is fixed with them.
fn is_value(setting: &str) -> bool {
    setting != "ENABLE_WEBHOOKS"
}

/// The manifests of both platforms as one text: what both have alike once, the rest under a condition.
fn both(
    plain: &Located,
    openshift: &Located,
    made: impl Fn(&Site, &[(Operator, SystemRows)]) -> Result<Vec<Value>>,
) -> Result<String> {
    let keep = |object: &Value| object["kind"] != "ConfigMap";
    let plain: Vec<Value> = made(&plain.0, &plain.1)?.into_iter().filter(keep).collect();
    let openshift: Vec<Value> = made(&openshift.0, &openshift.1)?.into_iter().filter(keep).collect();
    let same =
        |a: &Value, b: &Value| a["kind"] == b["kind"] && a["metadata"]["name"] == b["metadata"]["name"];
    let mut text = String::new();
    for object in plain.iter().filter(|object| !openshift.iter().any(|other| same(object, other))) {
        text += &guarded("{{- if ne .Values.platform `openshift` }}", &printed(object)?);
    }
    for object in &openshift {
        match plain.iter().find(|other| same(object, other)) {
            Some(other) if other == object => text += &printed(object)?,
            Some(other) => {
                text += "{{- if eq .Values.platform `openshift` }}\n";
                text += &printed(object)?;
                text += "{{- else }}\n";
                text += &printed(other)?;
                text += "{{- end }}\n";
            }
            None => {
                text += &guarded("{{- if eq .Values.platform `openshift` }}", &printed(object)?);
            }
        }
    }
    Ok(text)
}

/// Definitions, kept when the release goes: with them would go every custom resource.
fn kept(definitions: Vec<Value>) -> Vec<Value> {
    let keep = |mut definition: Value| {
        definition["metadata"]["annotations"]["helm.sh/resource-policy"] = json!("keep");
        definition
    };
    definitions.into_iter().map(keep).collect()
}

fn printed(object: &Value) -> Result<String> {
    Ok(format!("---\n{}", document(object, Format::Yaml)?))
}

fn guarded(condition: &str, text: &str) -> String {
    format!("{condition}\n{text}{{{{- end }}}}\n")
}

/// The chart's defaults: those of `quintet install`.
fn values(systems: &Systems) -> Result<String> {
    let site = Site {
        namespace: super::NAMESPACE.into(),
        image: IMAGE.into(),
        platform: Platform::Kubernetes,
        webhook_url: None,
    };
    let operators = install::operators(systems, &site)?;
    let settings = operators.iter().map(|(operator, _)| {
        let env = operator.env.iter().filter(|(name, _)| is_value(name));
        let env = env.map(|(name, value)| ((*name).to_owned(), json!(value)));
        (operator.system.to_owned(), Value::Object(env.collect()))
    });
    let rest = json!({
        "image": IMAGE,
        "operators": operators.iter().map(|(operator, _)| operator.system).collect::<Vec<_>>(),
        "settings": settings.collect::<Map<_, _>>(),
    });
    Ok(format!("{VALUES}{}", document(&rest, Format::Yaml)?))
}
