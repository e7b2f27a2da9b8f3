//! The endpoints of a custom kind as OpenAPI v3 paths.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use sluice_schema::recorded;

use super::Names;

const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

/// The query parameters of each action, from a built-in resource that has them all.
struct Parameters {
    list: Value,
    all_namespaces: Value,
    post: Value,
    put: Value,
    patch: Value,
    delete: Value,
    namespace: Value,
    pretty: Value,
}

static PARAMETERS: LazyLock<Parameters> = LazyLock::new(|| {
    let document = recorded::openapi().document("apis/apps/v1").unwrap_or_default();
    let root = "/apis/apps/v1";
    let collection = &document["paths"][format!("{root}/namespaces/{{namespace}}/deployments")];
    let item = &document["paths"][format!("{root}/namespaces/{{namespace}}/deployments/{{name}}")];
    let named = |list: &Value, name: &str| {
        let found = list.as_array().into_iter().flatten().find(|entry| entry["name"] == name);
        found.cloned().unwrap_or_default()
    };
    Parameters {
        list: collection["get"]["parameters"].clone(),
        all_namespaces: document["paths"][format!("{root}/deployments")]["parameters"].clone(),
        post: collection["post"]["parameters"].clone(),
        put: item["put"]["parameters"].clone(),
        patch: item["patch"]["parameters"].clone(),
        delete: item["delete"]["parameters"].clone(),
        namespace: named(&collection["parameters"], "namespace"),
        pretty: named(&collection["parameters"], "pretty"),
    }
});

/// The properties of one operation.
struct Operation<'a> {
    action: &'a str,
    /// The verb that starts the operation's id and description.
    verb: &'a str,
    subresource: &'a str,
    all_namespaces: bool,
    answer: String,
}

/// All paths of a kind in one version.
pub(super) fn all(names: &Names) -> Map<String, Value> {
    let mut paths = Map::new();
    let model = names.model(&names.kind);
    let list = names.model(&names.list_kind);
    let root = format!("/apis/{}/{}", names.group, names.version);
    let operation = |action, verb, subresource, answer: &str| Operation {
        action,
        verb,
        subresource,
        all_namespaces: false,
        answer: answer.to_owned(),
    };
    let collection = if names.namespaced {
        let everywhere = Operation { all_namespaces: true, ..operation("list", "list", "", &list) };
        let mut get = everywhere.render(names);
        // All parameters of this path are common to its one operation.
        if let Some(get) = get.as_object_mut() {
            get.remove("parameters");
        }
        let entry = json!({"get": get, "parameters": PARAMETERS.all_namespaces});
        paths.insert(format!("{root}/{}", names.plural), entry);
        format!("{root}/namespaces/{{namespace}}/{}", names.plural)
    } else {
        format!("{root}/{}", names.plural)
    };
    paths.insert(
        collection.clone(),
        json!({
            "get": operation("list", "list", "", &list).render(names),
            "post": operation("post", "create", "", &model).render(names),
            "delete": operation("deletecollection", "delete", "", STATUS).render(names),
            "parameters": common(names, false),
        }),
    );
    let item = format!("{collection}/{{name}}");
    paths.insert(
        item.clone(),
        json!({
            "get": operation("get", "read", "", &model).render(names),
            "put": operation("put", "replace", "", &model).render(names),
            "delete": operation("delete", "delete", "", STATUS).render(names),
            "patch": operation("patch", "patch", "", &model).render(names),
            "parameters": common(names, true),
        }),
    );
    for (present, subresource, answer) in
        [(names.has_status, "status", model.as_str()), (names.has_scale, "scale", SCALE)]
    {
        if present {
            let entry = json!({
                "get": operation("get", "read", subresource, answer).render(names),
                "put": operation("put", "replace", subresource, answer).render(names),
                "patch": operation("patch", "patch", subresource, answer).render(names),
                "parameters": common(names, true),
            });
            paths.insert(format!("{item}/{subresource}"), entry);
        }
    }
    paths
}

/// The parameters that all operations of a path share, sorted by name.
fn common(names: &Names, named: bool) -> Value {
    let mut out = Vec::new();
    if named {
        out.push(json!({
            "name": "name",
            "in": "path",
            "description": format!("name of the {}", names.kind),
            "required": true,
            "schema": {"type": "string", "uniqueItems": true},
        }));
    }
    if names.namespaced {
        out.push(PARAMETERS.namespace.clone());
    }
    out.push(PARAMETERS.pretty.clone());
    out.into()
}

fn title(verb: &str) -> String {
    let mut characters = verb.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + characters.as_str()
    })
}

/// `exampleCom` for `example.com`.
fn camel(group: &str) -> String {
    let mut parts = group.split(['.', '-']);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + &title(part))
}

fn content(model: &str) -> Value {
    let schema = json!({"schema": {"$ref": format!("#/components/schemas/{model}")}});
    json!({"application/json": schema, "application/yaml": schema})
}

impl Operation<'_> {
    fn description(&self, kind: &str) -> String {
        let of = if self.subresource.is_empty() {
            String::new()
        } else {
            format!(" {} of", self.subresource)
        };
        match self.action {
            "list" => format!("list objects of kind {kind}"),
            "patch" => format!("partially update{of} the specified {kind}"),
            "deletecollection" => format!("delete collection of {kind}"),
            "post" | "delete" => {
                let article = if kind.starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
                format!("{} {article} {kind}", self.verb)
            }
            _ => format!("{}{of} the specified {kind}", self.verb),
        }
    }

    fn render(&self, names: &Names) -> Value {
        let place = camel(&names.group);
        let collection = if self.action == "deletecollection" { "Collection" } else { "" };
        let namespaced = if names.namespaced && !self.all_namespaces { "Namespaced" } else { "" };
        let everywhere = if self.all_namespaces { "ForAllNamespaces" } else { "" };
        let id = format!(
            "{}{}{}{collection}{namespaced}{}{}{everywhere}",
            self.verb,
            title(&place),
            title(&names.version),
            names.kind,
            title(self.subresource)
        );
        let mut out = json!({
            "tags": [format!("{place}_{}", names.version)],
            "description": self.description(&names.kind),
            "operationId": id,
            "parameters": self.parameters(),
            "responses": self.responses(),
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": {
                "group": names.group,
                "version": names.version,
                "kind": names.kind,
            },
        });
        let body = match self.action {
            "post" | "put" => Some(json!({"content": content(&self.answer), "required": true})),
            "delete" => Some(json!({"content": content(DELETE_OPTIONS)})),
            "patch" => {
                let schema = json!({"schema": {"$ref": format!("#/components/schemas/{PATCH}")}});
                let content = json!({
                    "application/apply-patch+yaml": schema,
                    "application/json-patch+json": schema,
                    "application/merge-patch+json": schema,
                });
                Some(json!({"content": content, "required": true}))
            }
            _ => None,
        };
        if let Some(body) = body {
            out["requestBody"] = body;
        }
        out
    }

    fn parameters(&self) -> Value {
        let all = &*PARAMETERS;
        match self.action {
            "list" | "deletecollection" => all.list.clone(),
            "post" => all.post.clone(),
            "put" => all.put.clone(),
            "patch" => all.patch.clone(),
            "delete" => all.delete.clone(),
            _ => {
                let found = all.list.as_array().into_iter().flatten();
                let version: Vec<&Value> =
                    found.filter(|entry| entry["name"] == "resourceVersion").collect();
                json!(version)
            }
        }
    }

    fn responses(&self) -> Value {
        let mut out = json!({
            "200": {"description": "OK", "content": content(&self.answer)},
            "401": {"description": "Unauthorized"},
        });
        if matches!(self.action, "post" | "put") {
            out["201"] = json!({"description": "Created", "content": content(&self.answer)});
        }
        if matches!(self.action, "post" | "delete") {
            out["202"] = json!({"description": "Accepted", "content": content(&self.answer)});
        }
        out
    }
}
