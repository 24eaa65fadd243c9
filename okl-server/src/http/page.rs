//! The live page. Its figures come from the routes under /v1; nothing is loaded from elsewhere.

use maud::{DOCTYPE, html};

/// The script of the page.
pub const SCRIPT: &str = include_str!("page.js");
/// The style of the page.
pub const STYLE: &str = include_str!("page.css");

/// The page; `tokens`: whether it asks for a token.
pub fn html(tokens: bool) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "okl models" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href="page.css";
                script src="page.js" defer {}
            }
            body data-tokens=(tokens) {
                header { h1 { "okl" } p #state role="status" { "loading" } }
                form #signin hidden {
                    label for="token" { "Token" }
                    input #token name="token" type="password" autocomplete="current-password" required;
                    button { "Sign in" }
                    p #wrong role="alert" {}
                }
                main #models {}
                noscript { p { "This page needs JavaScript; /v1/models has the same figures as JSON." } }
            }
        }
    };
    page.into_string()
}
