//! The metadata of SOPS: master keys, rule, MAC.

use serde_json::{Map, Value as Json};

use crate::keys::{KeyGroup, MasterKey};
use crate::rules::{Pattern, Rule};
use crate::time::parse_rfc3339_nano;
use crate::tree::{Branch, Item, Value, seconds_only};

/// The suffix of a document without a rule.
const DEFAULT_UNENCRYPTED_SUFFIX: &str = "_unencrypted";

/// The metadata of one document.
#[derive(Debug, Clone)]
pub(crate) struct Metadata {
    pub(crate) key_groups: Vec<KeyGroup>,
    /// The number of required groups; zero if the document does not set it.
    pub(crate) shamir_threshold: usize,
    pub(crate) rule: Rule,
    /// Whether the MAC covers encrypted values only.
    pub(crate) mac_only_encrypted: bool,
    /// The encrypted MAC.
    pub(crate) mac: String,
    /// The time that the MAC is bound to, in RFC 3339.
    pub(crate) last_modified: String,
}

impl Metadata {
    pub(crate) fn read(tree: &Branch) -> Result<Self, String> {
        let fields = Fields(json_fields(tree)?);
        let last_modified = time(&fields.text("lastmodified")?)?;
        Ok(Self {
            key_groups: key_groups(&fields)?,
            shamir_threshold: fields.number("shamir_threshold")?,
            rule: rule(&fields)?,
            mac_only_encrypted: fields.truth("mac_only_encrypted")?,
            mac: fields.text("mac")?,
            last_modified,
        })
    }
}

fn time(text: &str) -> Result<String, String> {
    let time = parse_rfc3339_nano(text);
    time.map(|time| seconds_only(&time)).ok_or_else(|| {
        format!("parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?}")
    })
}

/// Makes a rule from its field's text.
type MakeRule = fn(&str) -> Rule;

fn rule(fields: &Fields) -> Result<Rule, String> {
    let kinds: [(&str, MakeRule); 6] = [
        ("unencrypted_suffix", |text| Rule::UnencryptedSuffix(text.to_owned())),
        ("encrypted_suffix", |text| Rule::EncryptedSuffix(text.to_owned())),
        ("unencrypted_regex", |text| Rule::UnencryptedNames(Pattern::new(text))),
        ("encrypted_regex", |text| Rule::EncryptedNames(Pattern::new(text))),
        ("unencrypted_comment_regex", |text| Rule::UnencryptedComments(Pattern::new(text))),
        ("encrypted_comment_regex", |text| Rule::EncryptedComments(Pattern::new(text))),
    ];
    let mut found = None;
    for (name, make) in kinds {
        let text = fields.text(name)?;
        if !text.is_empty() && found.replace(make(&text)).is_some() {
            return Err("Cannot use more than one of encrypted_suffix, unencrypted_suffix, \
                encrypted_regex, unencrypted_regex, encrypted_comment_regex, or \
                unencrypted_comment_regex in the same file"
                .to_owned());
        }
    }
    Ok(found.unwrap_or_else(|| Rule::UnencryptedSuffix(DEFAULT_UNENCRYPTED_SUFFIX.to_owned())))
}

/// The key groups: keys at the top level are one group, and then `key_groups` is ignored.
fn key_groups(fields: &Fields) -> Result<Vec<KeyGroup>, String> {
    let top = key_group(fields)?;
    if !top.is_empty() {
        return Ok(vec![top]);
    }
    let groups = fields.list("key_groups")?;
    if groups.is_empty() {
        return Err("No keys found in file".to_owned());
    }
    groups.iter().map(key_group).collect()
}

fn key_group(fields: &Fields) -> Result<KeyGroup, String> {
    let mut keys = Vec::new();
    let mut each = |kind: &str, read: &dyn Fn(&Fields) -> Result<MasterKey, String>| {
        for key in fields.list(kind)? {
            // age keys have no time; all others must have a valid one.
            if kind != "age" {
                time(&key.text("created_at")?)?;
            }
            keys.push(read(&key)?);
        }
        Ok::<(), String>(())
    };
    each("kms", &|key| {
        Ok(MasterKey::AwsKms {
            arn: key.text("arn")?,
            role: key.text("role")?,
            context: key.texts("context")?,
            enc: key.text("enc")?,
        })
    })?;
    each("gcp_kms", &|key| {
        Ok(MasterKey::GcpKms { resource_id: key.text("resource_id")?, enc: key.text("enc")? })
    })?;
    each("hckms", &|key| Ok(MasterKey::HuaweiKms { key_id: key.text("key_id")? }))?;
    each("azure_kv", &|key| {
        Ok(MasterKey::AzureKeyVault {
            vault_url: key.text("vault_url")?,
            name: key.text("name")?,
            version: key.text("version")?,
            enc: key.text("enc")?,
        })
    })?;
    each("hc_vault", &|key| {
        Ok(MasterKey::Vault {
            address: key.text("vault_address")?,
            engine_path: key.text("engine_path")?,
            key_name: key.text("key_name")?,
            enc: key.text("enc")?,
        })
    })?;
    each("pgp", &|key| Ok(MasterKey::Pgp { fingerprint: key.text("fp")?, enc: key.text("enc")? }))?;
    each("age", &|key| {
        Ok(MasterKey::Age { recipient: key.text("recipient")?, enc: key.text("enc")? })
    })?;
    Ok(keys)
}

/// The fields of a mapping. Types are lenient: dotenv and INI have strings only.
struct Fields(Map<String, Json>);

impl Fields {
    fn wrong(name: &str, expected: &str) -> String {
        format!("'{name}' expected type '{expected}'")
    }

    fn text(&self, name: &str) -> Result<String, String> {
        match self.0.get(name) {
            None | Some(Json::Null) => Ok(String::new()),
            Some(Json::String(text)) => Ok(text.clone()),
            Some(Json::Bool(truth)) => Ok(u8::from(*truth).to_string()),
            Some(Json::Number(number)) => Ok(number.to_string()),
            Some(_) => Err(Self::wrong(name, "string")),
        }
    }

    fn number(&self, name: &str) -> Result<usize, String> {
        let text = self.text(name)?;
        if text.is_empty() {
            return Ok(0);
        }
        // A negative threshold is met by any number of groups.
        let number: i64 = text.parse().map_err(|_| Self::wrong(name, "int"))?;
        Ok(usize::try_from(number).unwrap_or(0))
    }

    fn truth(&self, name: &str) -> Result<bool, String> {
        match self.text(name)?.as_str() {
            "" | "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            _ => Err(Self::wrong(name, "bool")),
        }
    }

    fn list(&self, name: &str) -> Result<Vec<Self>, String> {
        let map = |item: &Json| match item {
            Json::Object(fields) => Ok(Self(fields.clone())),
            _ => Err(Self::wrong(name, "map")),
        };
        match self.0.get(name) {
            None | Some(Json::Null) => Ok(Vec::new()),
            Some(Json::Array(items)) => items.iter().map(map).collect(),
            Some(Json::Object(fields)) if fields.is_empty() => Ok(Vec::new()),
            Some(Json::String(text)) if text.is_empty() => Ok(Vec::new()),
            Some(one) => Ok(vec![map(one)?]),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        match self.0.get(name) {
            Some(Json::Object(fields)) => {
                let inner = Self(fields.clone());
                fields.keys().map(|name| Ok((name.clone(), inner.text(name)?))).collect()
            }
            None | Some(Json::Null) => Ok(Vec::new()),
            Some(Json::Array(items)) if items.is_empty() => Ok(Vec::new()),
            Some(_) => Err(Self::wrong(name, "map")),
        }
    }
}

fn json_fields(tree: &Branch) -> Result<Map<String, Json>, String> {
    let mut out = Map::new();
    for item in tree {
        if let Item::Field(name, value) = item {
            out.insert(name.clone(), json(value)?);
        }
    }
    Ok(out)
}

fn json(value: &Value) -> Result<Json, String> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Text(bytes) => String::from_utf8_lossy(bytes).into_owned().into(),
        Value::Time(text) => text.clone().into(),
        Value::List(items) => {
            let items = items.iter().filter(|item| !matches!(item, Value::Comment(_)));
            Json::Array(items.map(json).collect::<Result<_, _>>()?)
        }
        Value::Branch(fields) => Json::Object(json_fields(fields)?),
        Value::Bytes(_) | Value::Comment(_) => {
            return Err(format!("unexpected {} in the metadata", value.type_name()));
        }
    })
}
