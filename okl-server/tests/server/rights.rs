//! Who may do what.

use okl_server::http::Tls;
use okl_server::http::route::{Action, Needs, ROUTES, Right};
use okl_server::options::Options;
use okl_server::tokens::{Tokens, new_token};
use serde_json::json;

use crate::support::{Folder, Reply, Running, Setup, config};

/// A server with two models and a token for each right on model `m`, one for all models, and one for the other model only.
struct Guarded {
    _folder: Folder,
    server: Running,
    secrets: Vec<(String, Option<Right>, String)>,
}

fn guarded(options: Options) -> Guarded {
    let mut file = String::from("# tokens\n\n");
    let mut secrets = Vec::new();
    let mut add = |name: &str, right: Right, models: &str| {
        let (secret, line) = new_token(name, &[right.word().into()], &[models.into()]).unwrap();
        file += &format!("{line}  # a comment\n");
        secret
    };
    for right in Right::ALL {
        secrets.push((right.word().to_owned(), Some(right), add(right.word(), right, "m")));
    }
    secrets.push(("elsewhere".into(), None, add("elsewhere", Right::Admin, "other")));
    secrets.push(("wrong".into(), None, "okl_0000".into()));
    let all = add("all", Right::Admin, "*");
    let folder = Folder::new();
    let server = Running::with(&folder, Setup { options, tokens: Some(Tokens::parse(&file).unwrap()), ..Setup::default() });
    for name in ["m", "other"] {
        let made = server.call(
            "PUT",
            &format!("/v1/models/{name}"),
            &[bearer(&all).each()],
            json!({ "config": config() }).to_string().as_bytes(),
        );
        assert_eq!(made.status, 201, "{made:?}");
    }
    secrets.push(("all".into(), Some(Right::Admin), all));
    Guarded { _folder: folder, server, secrets }
}

struct Bearer(String);

impl Bearer {
    fn each(&self) -> (&str, &str) {
        ("authorization", &self.0)
    }
}

fn bearer(secret: &str) -> Bearer {
    Bearer(format!("Bearer {secret}"))
}

#[test]
fn every_route_asks_for_its_right() {
    let Guarded { server, secrets, .. } = &guarded(Options::default());
    for route in ROUTES.iter().filter(|route| route.action != Action::Delete && route.action != Action::Events) {
        let path = route.path.replace("{name}", "m");
        let send = |headers: &[(&str, &str)]| server.call(route.method, &path, headers, b"");
        let without = send(&[]).status;
        let open = route.needs == Needs::Nothing && route.action != Action::SignIn;
        assert_eq!(without == 401, !open, "{} {path} without a token: {without}", route.method);
        for (name, right, secret) in secrets {
            let status = send(&[bearer(secret).each()]).status;
            let whole_server = !route.path.contains("{name}");
            let allowed = match route.needs {
                Needs::Nothing => open,
                Needs::Token => name != "wrong",
                Needs::Right(_) if whole_server => name == "all",
                Needs::Right(needed) => *right == Some(needed) || *right == Some(Right::Admin),
            };
            let expected = match (allowed, name == "wrong" || route.action == Action::SignIn) {
                (true, _) => !matches!(status, 401 | 403),
                (false, true) => status == 401,
                (false, false) => status == 403,
            };
            assert!(expected, "{} {path} with the token '{name}': {status}", route.method);
        }
    }
    // Events do not end, and a deleted model is gone: only their refusals are compared here.
    for (method, path, right) in [("GET", "/v1/models/m/events", Right::Read), ("DELETE", "/v1/models/m", Right::Admin)] {
        assert_eq!(server.call(method, path, &[], b"").status, 401);
        for (name, had, secret) in secrets.iter().filter(|(_, had, _)| *had != Some(right) && *had != Some(Right::Admin)) {
            let expected = if name == "wrong" { 401 } else { 403 };
            assert_eq!(server.call(method, path, &[bearer(secret).each()], b"").status, expected, "{path} {had:?}");
        }
    }
    let admin = &secrets[3].2;
    assert_eq!(server.call("DELETE", "/v1/models/m", &[bearer(admin).each()], b"").status, 200);
}

#[test]
fn a_list_shows_only_what_the_token_may_see() {
    let Guarded { server, secrets, .. } = &guarded(Options::default());
    let names = |secret: &str| {
        let listed = server.call("GET", "/v1/models", &[bearer(secret).each()], b"").good();
        listed["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&secrets[0].2), ["m"]);
    assert_eq!(names(&secrets[6].2), ["m", "other"]);
    let body = json!({ "rows": [[0.0, 0.0]] }).to_string();
    let remember = server.call("POST", "/v1/models/m/predict?remember=1h", &[bearer(&secrets[0].2).each()], body.as_bytes());
    assert!(matches!(remember.status, 403 | 409), "remembering stores rows: {remember:?}");
    let freeze = server.call("POST", "/v1/models/m/freeze?to=new", &[bearer(&secrets[3].2).each()], b"");
    assert_eq!(freeze.status, 403, "the new model is not among those of the token");
}

#[test]
fn the_page_signs_in_with_a_cookie() {
    let Guarded { server, secrets, .. } = &guarded(Options::default());
    let form = format!("token={}", secrets[2].2);
    let signed = server.call("POST", "/signin", &[], form.as_bytes());
    let cookie = signed.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("httponly") && cookie.contains("samesite=strict") && !cookie.contains(&secrets[2].2), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(server.call("GET", "/v1/models/m", &[("cookie", cookie)], b"").status, 403, "a token to read cannot predict");
    assert_eq!(server.call("GET", "/v1/models", &[("cookie", cookie)], b"").status, 200);
    assert_eq!(
        server.call("POST", "/v1/models/m/explain", &[("cookie", cookie)], b"").status,
        401,
        "a form of another site sends cookies"
    );
    let origin = format!("http://{}", server.address);
    assert_eq!(server.call("POST", "/v1/models/m/explain", &[("cookie", cookie), ("origin", &origin)], b"").status, 400);
    assert_eq!(server.call("GET", "/v1/models", &[("cookie", "okl_session=0123")], b"").status, 401);
    assert_eq!(server.call("POST", "/signin", &[], b"token=okl_1").status, 401);
}

#[test]
fn without_tokens_only_this_machine_is_served() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    let host = |host: &str| server.call("GET", "/v1/models", &[("host", host)], b"").status;
    assert_eq!(["localhost", "localhost:7878", "127.0.0.1", "[::1]:80"].map(host), [200; 4]);
    assert_eq!(["example.org", "example.org:7878", "127.0.0.1.example.org", ""].map(host), [403; 4]);
    let local = server.address.to_string();
    let origin = |origin: &str| server.call("GET", "/v1/models", &[("host", &local), ("origin", origin)], b"").status;
    assert_eq!(origin(&format!("http://{local}")), 200);
    assert_eq!(["http://example.org", "null", "http://127.0.0.1:1"].map(origin), [403; 3]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let registry = okl_server::registry::Registry::open(
        &Folder::new().0,
        std::sync::Arc::new(okl_server::surface::Plain),
        Options::default(),
    )
    .unwrap()
    .0;
    let open = okl_server::http::Server::new(std::sync::Arc::new(registry), None);
    let refused = runtime.block_on(okl_server::http::Listening::on("0.0.0.0:0".parse().unwrap(), open, None)).err().unwrap();
    assert!(refused.to_string().contains("loopback"), "{refused}");
}

#[test]
fn every_answer_has_the_security_headers() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    for path in ["/", "/v1/models", "/nowhere", "/page.js"] {
        let reply: Reply = server.get(path);
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!((reply.header("x-content-type-options"), reply.header("x-frame-options")), (Some("nosniff"), Some("deny")));
    }
}

#[test]
fn a_token_has_a_rate() {
    let Guarded { server, secrets, .. } = &guarded(Options { most_rate: Some(5), ..Options::default() });
    let statuses: Vec<u16> =
        (0..20).map(|_| server.call("GET", "/v1/models", &[bearer(&secrets[0].2).each()], b"").status).collect();
    assert!(statuses[..5].iter().all(|s| *s == 200) && statuses.contains(&429), "{statuses:?}");
}

#[test]
fn token_files_are_checked() {
    let (secret, line) = new_token("a", &["predict".into(), "learn".into()], &["x".into(), "y".into()]).unwrap();
    let tokens = Tokens::parse(&line).unwrap();
    let token = tokens.find(&secret).unwrap();
    assert!(
        token.allows(Right::Learn, Some("y")) && !token.allows(Right::Read, Some("y")) && !token.allows(Right::Learn, Some("z"))
    );
    assert!(!line.contains(&secret) && tokens.find(&secret[..secret.len() - 1]).is_none());
    assert!(new_token("a", &["fly".into()], &["*".into()]).unwrap_err().contains("unknown right 'fly'"));
    assert!(new_token("a", &["learn".into()], &["../x".into()]).unwrap_err().contains("not the name of a model"));
    assert!(Tokens::parse("# nothing\n").unwrap_err().contains("no token"));
    assert!(Tokens::parse(&format!("{line}\nshort 12 learn *")).unwrap_err().starts_with("line 2:"));
}

#[test]
fn connections_can_be_encrypted() {
    use std::io::{Read, Write};
    use std::path::Path;
    use std::sync::Arc;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
    // A self-signed certificate for 127.0.0.1, for this test only.
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server");
    let (certificate, key) = (here.join("test_certificate.pem"), here.join("test_key.pem"));
    assert!(Tls::load(&key, &certificate).is_err() && Tls::load(&certificate, Path::new("nowhere")).is_err());
    let folder = Folder::new();
    let tls = Tls::load(&certificate, &key).unwrap();
    let server = Running::with(&folder, Setup { tls: Some(tls), ..Setup::default() });
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&certificate).unwrap()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), ServerName::try_from("127.0.0.1").unwrap()).unwrap();
    let mut stream = StreamOwned::new(client, std::net::TcpStream::connect(server.address).unwrap());
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_ne!(server.get("/healthz").status, 200, "without encryption");
}

#[test]
fn another_method_is_told_which_there_are() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    let allow = |path: &str| {
        let reply = server.call("PATCH", path, &[], b"");
        assert_eq!(reply.status, 405, "{reply:?}");
        reply.header("allow").unwrap().to_owned()
    };
    assert_eq!(allow("/v1/models/m"), "put, get, delete, head");
    assert_eq!(allow("/v1/models/m/learn"), "post");
}

/// A changed token file holds without a restart: new tokens are accepted, removed ones and their cookies are refused. A wrong file changes
/// nothing.
#[test]
fn a_changed_token_file_is_read_again() {
    let folder = Folder::new();
    let path = folder.0.join("tokens");
    let (first, first_line) = new_token("first", &["admin".into()], &["*".into()]).unwrap();
    let (second, second_line) = new_token("second", &["admin".into()], &["*".into()]).unwrap();
    std::fs::write(&path, format!("{first_line}\n")).unwrap();
    let tokens = Tokens::of_file(&path).unwrap();
    assert_eq!(tokens.look(), None, "it has not changed");
    let server = Running::with(&folder, Setup { tokens: Some(tokens), ..Setup::default() });
    let status = |secret: &str| server.call("GET", "/v1/models", &[bearer(secret).each()], b"").status;
    let becomes = |secret: &str, expected: u16| {
        let seen = (0..600).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            status(secret) == expected
        });
        assert!(seen, "never {expected}");
    };
    assert_eq!((status(&first), status(&second)), (200, 401));
    let signed = server.call("POST", "/signin", &[], format!("token={first}").as_bytes());
    let cookie = signed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let with_cookie = || server.call("GET", "/v1/models", &[("cookie", &cookie)], b"").status;
    std::fs::write(&path, format!("{first_line}\n{second_line}\n")).unwrap();
    becomes(&second, 200);
    assert_eq!((status(&first), with_cookie()), (200, 200), "the old token and its cookie stay valid");
    std::fs::write(&path, format!("{second_line}\n")).unwrap();
    becomes(&first, 401);
    assert_eq!((with_cookie(), status(&second)), (401, 200));
    let tokens = Tokens::of_file(&path).unwrap();
    for wrong in ["", "second 00 admin *\n"] {
        std::fs::write(&path, wrong).unwrap();
        assert!(tokens.look().unwrap().contains("stay valid"));
        assert!(tokens.find(&second).is_some());
    }
    std::fs::remove_file(&path).unwrap();
    tokens.look();
    assert!(tokens.find(&second).is_some());
}

/// The events of a model are open to the right to read: the first event has the figures.
#[test]
fn events_are_open_to_the_right_to_read() {
    use std::io::{Read, Write};
    let Guarded { server, secrets, .. } = &guarded(Options::default());
    for (name, right, secret) in secrets.iter().filter(|(_, right, _)| matches!(right, Some(Right::Read | Right::Admin))) {
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        write!(
            stream,
            "GET /v1/models/m/events HTTP/1.1\r\nhost: localhost\r\nauthorization: {}\r\n\r\n",
            bearer(secret).each().1
        )
        .unwrap();
        let (mut text, mut part) = (String::new(), [0; 512]);
        while !text.contains("\"figures\"") {
            let read = stream.read(&mut part).unwrap();
            assert!(read > 0, "{name} {right:?}: {text}");
            text += &String::from_utf8_lossy(&part[..read]);
        }
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
}
