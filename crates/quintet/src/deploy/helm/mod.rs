//! A Helm chart. Each manifest is printed with template expressions in place of values. Where it depends on a choice (the
//! platform, a setting that changes objects, which systems run) every variant is made as `quintet install` would make it,
//! and the chart's values choose between them.
//!
//! One thing of `quintet install` is not in it: the namespace, which is Helm's business.

mod guard;
mod text;
mod values;

use std::collections::BTreeMap;

use anyhow::Result;
use quintet_kit::install::{Installed, Operator, Platform, Process, Site, fused, split};
use quintet_kit::wiring::SystemRows;
use serde_json::{Value, json};

use super::Files;
use crate::commands::install::{self, definitions, process};
use crate::systems::Systems;
use guard::Guarded;

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

/// Something that manifests depend on, beside the systems: true or not.
struct Choice {
    /// The condition on the chart's values.
    condition: &'static str,
    /// The setting of the model registry that it is about, with its value if the condition holds and if not; none: the
    /// platform.
    setting: Option<(&'static str, &'static str, &'static str)>,
}

const CHOICES: [Choice; 5] = [
    Choice { condition: "eq .Values.platform `openshift`", setting: None },
    Choice {
        condition: "index .Values.settings `model-registry` `REGISTRIES_NAMESPACE`",
        setting: Some(("REGISTRIES_NAMESPACE", text::STANDS_FOR_NAMESPACE, "")),
    },
    Choice {
        condition: "ne (index .Values.settings `model-registry` `ENABLE_WEBHOOKS`) `false`",
        setting: Some(("ENABLE_WEBHOOKS", "true", "false")),
    },
    Choice {
        condition: "ne (index .Values.settings `model-registry` `ENABLE_MODEL_CATALOG`) `false`",
        setting: Some(("ENABLE_MODEL_CATALOG", "true", "false")),
    },
    Choice {
        condition: "eq (index .Values.settings `model-registry` `SKIP_MODEL_CATALOG_DB_CREATION`) `true`",
        setting: Some(("SKIP_MODEL_CATALOG_DB_CREATION", "true", "false")),
    },
];

/// Which of [`CHOICES`] hold.
type Chosen = [bool; CHOICES.len()];

pub(super) fn files() -> Result<Files> {
    let mut files = Files::new();
    let mut template = |name: &str, condition: &str, text: &str| {
        let path = format!("helm/quintet/templates/{name}.yaml");
        files.insert(path, text::guarded(condition, text));
    };
    let usual = values::usual()?;
    let located = Located::all(&usual)?;
    let one = &located[&[false; CHOICES.len()]];
    let mut kinds = String::new();
    for (index, (operator, _)) in one.operators.iter().enumerate() {
        let made = |located: &Located, _: &[usize]| located.definitions(index);
        kinds += &text::guarded(&text::has(operator.system), &chosen(&located, &made)?);
    }
    template("definitions", "and .Values.definitions (not .Values.rbacOnly)", &kinds);
    template("fused", "eq .Values.shape `fused`", &chosen(&located, &Located::fused)?);
    for (index, (operator, _)) in one.operators.iter().enumerate() {
        let condition = format!("and (eq .Values.shape `split`) ({})", text::has(operator.system));
        let made = |located: &Located, _: &[usize]| Ok(located.split(index));
        template(operator.system, &condition, &chosen(&located, &made)?);
    }
    files.insert("helm/quintet/Chart.yaml".into(), CHART.into());
    files.insert("helm/quintet/values.yaml".into(), values::file(&usual)?);
    files.insert("helm/quintet/values.schema.json".into(), values::schema(&usual)?);
    files.insert("helm/quintet/templates/NOTES.txt".into(), NOTES.into());
    files.insert("helm/quintet/templates/_helpers.tpl".into(), text::HELPERS.into());
    Ok(files)
}

/// What `quintet install` makes for some of the systems of a variant.
type Made<'a> = dyn Fn(&Located, &[usize]) -> Result<Vec<Value>> + 'a;

/// The manifests of all variants as one text: what all have alike once, the rest under conditions.
fn chosen(located: &BTreeMap<Chosen, Located>, made: &Made<'_>) -> Result<String> {
    let mut variants: BTreeMap<Chosen, BTreeMap<String, Guarded>> = BTreeMap::new();
    let mut order: Vec<String> = vec![];
    for (choice, located) in located.iter().rev() {
        let systems: Vec<&str> = located.operators.iter().map(|(operator, _)| operator.system).collect();
        for guarded in guard::by_system(&systems, &|subset| made(located, subset))? {
            let name = guard::identity(&guarded.object);
            variants.entry(*choice).or_default().insert(name.clone(), guarded);
            if !order.contains(&name) {
                order.push(name);
            }
        }
    }
    let mut text = String::new();
    for name in &order {
        let of = |choice: Chosen| variants.get(&choice).and_then(|all| all.get(name)).cloned();
        for Guarded { object, conditions } in by_choice(0, Chosen::default(), &of) {
            text += &text::guarded(&text::all(&conditions), &text::manifest(object)?);
        }
    }
    Ok(text)
}

/// An object as it follows from each choice, with conditions where one of them matters. Those before `at` are made.
fn by_choice(at: usize, made: Chosen, of: &dyn Fn(Chosen) -> Option<Guarded>) -> Vec<Guarded> {
    let Some(choice) = CHOICES.get(at) else { return of(made).into_iter().collect() };
    let side = |holds: bool| {
        let mut made = made;
        made[at] = holds;
        by_choice(at + 1, made, of)
    };
    guard::either(choice.condition, side(true), side(false))
}

/// The systems at a site whose every value is an expression.
struct Located {
    site: Site,
    systems: Systems,
    operators: Vec<(Operator, SystemRows)>,
}

impl Located {
    fn all(values: &Value) -> Result<BTreeMap<Chosen, Self>> {
        let choices = (0..1 << CHOICES.len()).map(|bits| std::array::from_fn(|at| bits >> at & 1 == 1));
        choices.map(|choice| Ok((choice, Self::new(values, choice)?))).collect()
    }

    fn new(values: &Value, chosen: Chosen) -> Result<Self> {
        let namespace = text::expression(".Release.Namespace");
        let platform = if chosen[0] { Platform::OpenShift } else { Platform::Kubernetes };
        let settings =
            CHOICES.iter().zip(chosen).filter_map(|(choice, holds)| Some((choice.setting?, holds)));
        let settings: BTreeMap<&str, &str> =
            settings.map(|((name, yes, no), holds)| (name, if holds { yes } else { no })).collect();
        let systems = Systems::with(&namespace, &|system, name| match settings.get(name) {
            Some(value) if system == "model-registry" => Some((*value).to_owned()),
            _ => values["settings"][system].get(name).map(|_| text::setting(system, name)),
        })?;
        let site = Site { namespace, image: text::expression(".Values.image"), platform, webhook_url: None };
        let mut operators = install::operators(&systems, &site)?;
        for (operator, _) in &mut operators {
            for (name, value) in &mut operator.env {
                *value = text::setting(operator.system, name);
            }
        }
        Ok(Located { site, systems, operators })
    }

    fn fused(&self, subset: &[usize]) -> Result<Vec<Value>> {
        let subset = subset.iter().map(|index| &self.operators[*index]);
        let installed: Vec<Installed<'_>> = subset.map(|(operator, rows)| (operator, rows)).collect();
        let process =
            Process { replicas: text::REPLICAS, ..process(&text::expression("join `,` .Values.operators")) };
        Ok(fused(&self.site, &process, &installed))
    }

    fn split(&self, index: usize) -> Vec<Value> {
        let (operator, rows) = &self.operators[index];
        split(&self.site, (operator, rows))
    }

    /// Kept when the release goes: with them would go every custom resource.
    fn definitions(&self, index: usize) -> Result<Vec<Value>> {
        let (operator, rows) = &self.operators[index];
        let mut definitions = definitions(&self.systems, &self.site, &[(operator, rows)])?;
        for definition in &mut definitions {
            definition["metadata"]["annotations"]["helm.sh/resource-policy"] = json!("keep");
        }
        Ok(definitions)
    }
}
