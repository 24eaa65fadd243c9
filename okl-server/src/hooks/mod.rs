//! Web hooks: alerts and drifts of a model, sent to an address as signed POST requests (deliver.rs).
//!
//! A model has at most one hook; it is in `hook.json` in the folder of the model. Where hooks may point is decided by the operator of the server
//! ([`Allowed`]), never by a request. An address is checked after the name was resolved, and the connection goes to this very address, so a name
//! cannot point elsewhere in between.

mod address;
mod deliver;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::disk;
use crate::http::body::object;
use crate::model::Model;
use crate::model::folder::Folder;
use crate::refusal::{Answered, Refusal};
use crate::tokens::hex;
pub use address::{Url, is_public};

/// Where hooks may point, and how they are sent.
#[derive(Clone)]
pub struct Allowed {
    /// Hosts with public addresses: `HOST` or `HOST:PORT`.
    pub public: Vec<String>,
    /// Hosts that may also have addresses of this machine or of a private network.
    pub private: Vec<String>,
    /// For https: the certificates that are trusted.
    pub tls: Option<Arc<ClientConfig>>,
    /// The pause before the first repetition; it doubles with each one.
    pub pause: Duration,
    /// The longest time for one request.
    pub time: Duration,
}

impl Default for Allowed {
    fn default() -> Self {
        let (pause, time) = (Duration::from_secs(1), Duration::from_secs(10));
        Allowed { public: Vec::new(), private: Vec::new(), tls: None, pause, time }
    }
}

/// Reads the certificates that are trusted, a PEM file.
///
/// # Errors
/// If the file cannot be read or has no certificate.
pub fn trusted(file: &Path) -> Result<Arc<ClientConfig>, String> {
    let at = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|e| at(&e))?;
    roots.add_parsable_certificates(certificates.filter_map(Result::ok));
    if roots.is_empty() {
        return Err(at(&"no certificate"));
    }
    Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}

/// A kind of event that is sent to a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A row that is unlike the rows before it.
    Alert,
    /// The error has risen.
    Drift,
}

fn all_events() -> Vec<Kind> {
    vec![Kind::Alert, Kind::Drift]
}

/// The body of a request that sets a hook.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Request {
    url: String,
    #[serde(default = "all_events")]
    events: Vec<Kind>,
}

/// A hook; the file `hook.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// The address.
    pub url: String,
    /// What is sent.
    pub events: Vec<Kind>,
    /// The key of the signatures.
    pub secret: String,
}

/// The hooks of all models that run.
#[derive(Default)]
pub struct Hooks(Mutex<HashMap<String, tokio::task::AbortHandle>>);

const FILE: &str = "hook.json";

impl Hooks {
    /// Sets the hook of a model and returns it with its new secret.
    ///
    /// # Errors
    /// If the body cannot be read, the address is not allowed, or the disk has an error.
    pub fn set(&self, model: &Model, folder: &Folder, allowed: &Allowed, body: &[u8]) -> Answered<Hook> {
        let Request { url, events } = object(body, "{\"url\": \"https://...\", \"events\": [\"alert\", \"drift\"]}")?;
        Url::parse(&url).and_then(|url| url.check(allowed)).map_err(|text| Refusal::new(403, "hook_not_allowed", text))?;
        let mut random = [0; 32];
        SystemRandom::new().fill(&mut random).map_err(|_| Refusal::new(500, "internal", "no random numbers"))?;
        let hook = Hook { url, events, secret: hex(&random) };
        let bytes = serde_json::to_vec(&hook).map_err(|e| Refusal::new(500, "internal", e.to_string()))?;
        let stored = disk::replace(&*folder.disk, &folder.path.join(FILE), &bytes);
        stored.map_err(|e| {
            Refusal::new(if disk::is_full(&e) { 507 } else { 503 }, "not_stored", format!("the hook could not be stored: {e}"))
        })?;
        self.start(model, hook.clone(), allowed);
        Ok(hook)
    }

    /// The hook of a model.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, folder: &Folder) -> Answered<Hook> {
        let bytes = folder.disk.read(&folder.path.join(FILE)).ok();
        let hook = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        hook.ok_or_else(|| Refusal::new(404, "no_hook", "this model has no web hook"))
    }

    /// Removes the hook of a model. What waits to be sent is dropped.
    ///
    /// # Errors
    /// If there is none.
    pub fn remove(&self, model: &Model, folder: &Folder) -> Answered<()> {
        self.get(folder)?;
        self.stop(&model.name);
        let removed = folder.disk.remove(&folder.path.join(FILE)).and_then(|()| folder.disk.sync_folder(&folder.path));
        removed.map_err(|e| Refusal::new(503, "not_stored", format!("the hook could not be removed: {e}")))
    }

    /// Sends the events of a model from now on.
    pub fn start(&self, model: &Model, hook: Hook, allowed: &Allowed) {
        let events = model.events();
        let sender = deliver::Sender {
            model: model.name.clone(),
            hook,
            allowed: allowed.clone(),
            counts: Arc::clone(&model.counts),
            tls: allowed.tls.clone().map(TlsConnector::from),
        };
        let task = tokio::spawn(sender.run(events)).abort_handle();
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(model.name.clone(), task);
        if let Some(before) = before {
            before.abort();
        }
    }

    /// Sends nothing more for a model.
    pub fn stop(&self, name: &str) {
        if let Some(task) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name) {
            task.abort();
        }
    }
}
