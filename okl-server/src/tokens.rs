//! Bearer tokens. The token file has one line per token: a name, the SHA-256 of the token, its rights and its models.
//!
//! ```text
//! # name   sha-256 of the token   rights           models
//! sensor   9f86d081884c...        predict,learn    boiler,turbine
//! ops      60303ae22b99...        admin            *
//! ```
//!
//! Tokens are 32 random bytes, so a plain hash is enough: nobody can try all of them. `okl token new` makes one.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::http::route::Right;
use crate::registry::check_name;

/// How long a cookie of the live page is valid.
const SESSION: Duration = Duration::from_secs(12 * 3600);
/// The largest number of cookies.
const MOST_SESSIONS: usize = 1000;

/// The SHA-256 of a token or a cookie.
type Hash = [u8; 32];

/// One line of the token file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its name, for logs.
    pub name: String,
    hash: Hash,
    rights: Vec<Right>,
    /// The models; none: all.
    models: Option<Vec<String>>,
}

impl Token {
    /// Whether the token has a right for a model, or for some model if none is given. A right for the whole server (no model in the path) is
    /// needed for all models.
    pub fn allows(&self, right: Right, model: Option<&str>) -> bool {
        let has = self.rights.contains(&right) || self.rights.contains(&Right::Admin);
        let here = match (&self.models, model) {
            (None, _) => true,
            (Some(list), Some(model)) => list.iter().any(|m| m == model),
            (Some(_), None) => false,
        };
        has && here
    }

    /// Whether the token has any right for a model.
    pub fn sees(&self, model: &str) -> bool {
        Right::ALL.iter().any(|right| self.allows(*right, Some(model)))
    }

    /// The line of the token file.
    pub fn line(&self) -> String {
        let rights: Vec<&str> = self.rights.iter().map(|right| right.word()).collect();
        let models = self.models.as_ref().map_or("*".into(), |list| list.join(","));
        format!("{} {} {} {models}", self.name, hex(&self.hash), rights.join(","))
    }
}

/// Bytes as text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(bytes)
}

fn hash(token: &str) -> Hash {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    bytes
}

/// Compares in a time that does not depend on the contents.
fn same(a: &Hash, b: &Hash) -> bool {
    std::hint::black_box(a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b))) == 0
}

/// A random text of 32 bytes.
///
/// # Errors
/// If the operating system has no random numbers.
fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "the operating system has no random numbers")?;
    Ok(hex(&bytes))
}

/// Makes a new token: the secret, which is shown once, and the line for the token file.
///
/// # Errors
/// If a name or right is wrong.
pub fn new_token(name: &str, rights: &[String], models: &[String]) -> Result<(String, String), String> {
    let secret = format!("okl_{}", random()?);
    let line = format!("{name} {} {} {}", hex(&hash(&secret)), rights.join(","), models.join(","));
    let token = parse_line(&line)?;
    Ok((secret, token.line()))
}

fn parse_line(line: &str) -> Result<Token, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, sum, rights, models] = words[..] else {
        return Err("expected: name, sha-256, rights, models".into());
    };
    let right =
        |word: &str| Right::of(word).ok_or_else(|| format!("unknown right '{word}'; rights are predict, learn, read and admin"));
    let models = match models {
        "*" => None,
        list => Some(list.split(',').map(str::to_owned).collect::<Vec<_>>()),
    };
    if let Some(bad) = models.iter().flatten().find(|model| check_name(model).is_err()) {
        return Err(format!("'{bad}' is not the name of a model; use * for all models"));
    }
    Ok(Token {
        name: name.into(),
        hash: unhex(sum).ok_or("the sha-256 of a token has 64 hexadecimal digits")?,
        rights: rights.split(',').map(right).collect::<Result<_, _>>()?,
        models,
    })
}

/// The tokens of a file.
fn parse(text: &str) -> Result<Vec<Arc<Token>>, String> {
    let mut list = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            list.push(Arc::new(parse_line(line).map_err(|e| format!("line {}: {e}", i + 1))?));
        }
    }
    if list.is_empty() {
        return Err("no token in the file; `okl token new` makes one".into());
    }
    Ok(list)
}

/// All tokens, and the cookies that were given for them.
#[derive(Debug, Default)]
pub struct Tokens {
    list: RwLock<Vec<Arc<Token>>>,
    /// The token file, and its text when it was last read.
    file: Option<(PathBuf, Mutex<String>)>,
    /// Hash of the cookie: the hash of its token, and when the cookie ends.
    sessions: Mutex<HashMap<Hash, (Hash, Instant)>>,
    /// Requests of each token in the current second.
    rates: Mutex<HashMap<String, (Instant, u32)>>,
}

impl Tokens {
    /// Reads a token file.
    ///
    /// # Errors
    /// If a line is wrong; its number is in the text.
    pub fn parse(text: &str) -> Result<Tokens, String> {
        Ok(Tokens { list: RwLock::new(parse(text)?), ..Tokens::default() })
    }

    /// Reads a token file, which [`Tokens::look`] reads again when it has changed.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is wrong; its number is in the text.
    pub fn of_file(path: &Path) -> Result<Tokens, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: cannot be read: {e}", path.display()))?;
        let tokens = Tokens::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Tokens { file: Some((path.into(), Mutex::new(text))), ..tokens })
    }

    /// Reads the token file again if it has changed. A token that is no longer there is refused from now on, and so are its cookies. If the
    /// file cannot be read or a line is wrong, the tokens stay as they are. Returns a message about a change.
    pub fn look(&self) -> Option<String> {
        let (path, last) = self.file.as_ref()?;
        let read = std::fs::read_to_string(path).unwrap_or_default();
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last == read {
            return None;
        }
        let list = parse(&read);
        *last = read;
        let path = path.display();
        match list {
            Ok(list) => {
                let text = format!("{path} has changed and was read again; valid tokens: {}", list.len());
                *self.list.write().unwrap_or_else(PoisonError::into_inner) = list;
                Some(text)
            }
            Err(e) => Some(format!("{path} has changed and is not used: {e}. The tokens of before stay valid")),
        }
    }

    fn first(&self, fits: impl Fn(&Hash) -> bool) -> Option<Arc<Token>> {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        list.iter().fold(None, |found, token| if fits(&token.hash) { Some(Arc::clone(token)) } else { found })
    }

    /// The token with this secret. All tokens are compared, whichever fits.
    pub fn find(&self, secret: &str) -> Option<Arc<Token>> {
        let sum = hash(secret);
        self.first(|hash| same(hash, &sum))
    }

    /// Exchanges a token for a cookie.
    pub fn sign_in(&self, secret: &str) -> Option<String> {
        let token = self.find(secret)?;
        let cookie = random().ok()?;
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        sessions.retain(|_, (_, end)| *end > now);
        if sessions.len() >= MOST_SESSIONS {
            return None;
        }
        sessions.insert(hash(&cookie), (token.hash, now + SESSION));
        Some(cookie)
    }

    /// The token of a cookie.
    pub fn session(&self, cookie: &str) -> Option<Arc<Token>> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, end) = sessions.get(&hash(cookie))?;
        self.first(|hash| same(hash, of)).filter(|_| *end > Instant::now())
    }

    /// Counts a request of a token; false if there were more than `most` in this second.
    pub fn within_rate(&self, name: &str, most: u32) -> bool {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let (since, count) = rates.entry(name.into()).or_insert((now, 0));
        if now.duration_since(*since) >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count <= most
    }
}
