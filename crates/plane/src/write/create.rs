//! Making objects.

use serde_json::{Value, json};

use super::{Outcome, Source, Write, metadata, shape, versions};
use crate::clock;
use crate::hooks::Operation;
use crate::life;
use crate::status::{Cause, Error, Result};
use crate::store::{Expect, Refused, key};

/// How often a generated name may collide.
const TRIES: usize = 8;

impl Write<'_> {
    /// Makes an object from what a request sent.
    pub(crate) async fn create(&self, mut object: Value, source: Source) -> Result<Outcome> {
        let resource = self.resource;
        if !metadata::text(&object, "resourceVersion").is_empty() {
            return Err(Error::bare("resourceVersion should not be set on objects to be created"));
        }
        life::admit_create(self.plane, resource)?;
        metadata::place(&mut object, self.namespace)?;
        let unknown = shape::prune(resource, &mut object, self.applied);
        source.judge(unknown, None, self.validation, resource, self.warnings)?;
        if resource.has_status() && resource.names.plural.as_ref() != "nodes" {
            object.as_object_mut().map(|o| o.remove("status"));
        }
        let meta = metadata::of(&mut object);
        for field in
            ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"]
        {
            meta.remove(field);
        }
        shape::complete(resource, &mut object);
        metadata::tidy(&mut object, self.warnings);
        if !self.applied {
            self.book(None, &mut object);
        }
        life::admit_namespace(self.plane, resource, self.namespace, metadata::text(&object, "name"))?;
        let before = object.clone();
        let name = metadata::text(&object, "name").to_string();
        let mut admitted = self.mutate(Operation::Create, &name, object, &Value::Null).await?;
        if admitted != before {
            shape::prune(resource, &mut admitted, self.applied);
            shape::complete(resource, &mut admitted);
            metadata::tidy(&mut admitted, self.warnings); // nobody owns what admission adds
        }

        let generated = metadata::text(&admitted, "name")
            .is_empty()
            .then(|| metadata::text(&admitted, "generateName").to_string());
        let generated = generated.filter(|base| !base.is_empty());
        let mut tries = 0;
        loop {
            // What follows from the name must not outlive a name that was taken.
            let mut object =
                if generated.is_some() { admitted.clone() } else { std::mem::take(&mut admitted) };
            if let Some(base) = &generated {
                metadata::of(&mut object).insert("name".into(), metadata::generate(base).into());
            }
            let meta = metadata::of(&mut object);
            meta.insert("uid".into(), uuid::Uuid::new_v4().to_string().into());
            meta.insert("creationTimestamp".into(), clock::seconds(self.plane.clock().now()).into());
            if resource.traits.generation {
                meta.insert("generation".into(), json!(1));
            }
            life::prepare_create(resource, &mut object);
            let name = metadata::text(&object, "name").to_string();
            let mut errors = metadata::check(&object, resource, self.warnings);
            errors.extend(shape::check(resource, &object, None, self.warnings));
            if !errors.is_empty() {
                return Err(self.invalid(&name, &errors));
            }
            self.admit(Operation::Create, &name, &object, &Value::Null).await?;
            let store = self.plane.store();
            if self.dry_run {
                return match store.get(&resource.table, &key(self.namespace, &name)) {
                    Some(_) => Err(Error::already_exists(&resource.names, &name)),
                    None => versions::there_and_back(self.plane, resource, object).await.map(Outcome::Dry),
                };
            }
            let draft = self.draft(object).await?;
            match store.put(&resource.table, &draft, Expect::Absent) {
                Ok(stored) => {
                    life::stored(self.plane, resource, &stored);
                    return Ok(Outcome::Stored(stored));
                }
                Err(Refused::Missing | Refused::Changed) => return Err(Error::unknown_path()),
                Err(Refused::Exists) if generated.is_none() => {
                    return Err(Error::already_exists(&resource.names, &name));
                }
                Err(Refused::Exists) => {
                    tries += 1;
                    if tries == TRIES {
                        return Err(Error::generate_name_exhausted(&resource.names, &name));
                    }
                }
            }
        }
    }
}

/// The refusal to create something in a namespace that is going.
pub(crate) fn namespace_terminating(names: &crate::resource::Names, name: &str, namespace: &str) -> Error {
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut error = Error::forbidden(names, name, &why);
    if let Some(details) = &mut error.details {
        details.causes = vec![Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        }];
    }
    error
}
