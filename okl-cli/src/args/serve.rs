//! The arguments of `okl serve` and `okl token`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Names;

/// `okl serve`.
#[derive(Args, Debug)]
pub struct Serve {
    /// Folder of the models; it is created if needed
    pub folder: PathBuf,
    /// Address and port. Default: 127.0.0.1:7878. Without a token file only a loopback address is allowed
    #[arg(long, value_name = "ADDRESS", env = "OKL_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// File with the hashes of the tokens; `okl token new` adds one
    #[arg(long, value_name = "FILE", env = "OKL_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// PEM file with the certificate, for encrypted connections
    #[arg(long, value_name = "FILE", env = "OKL_CERTIFICATE")]
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key of the certificate
    #[arg(long, value_name = "FILE", env = "OKL_KEY")]
    pub key: Option<PathBuf>,
    /// TOML file with settings of the server; flags and variables override it
    #[arg(long, value_name = "FILE", env = "OKL_SERVE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Largest body of a request in bytes. Default: 16777216
    #[arg(long, value_name = "BYTES")]
    pub most_body: Option<usize>,
    /// Largest number of models. Default: 1000
    #[arg(long, value_name = "COUNT")]
    pub most_models: Option<usize>,
    /// Largest number of requests per second and token. Default: no limit
    #[arg(long, value_name = "COUNT")]
    pub most_rate: Option<u32>,
    /// Write a snapshot of a model after so many rows. Default: 200000. Results do not depend on it
    #[arg(long, value_name = "ROWS")]
    pub snapshot_rows: Option<u64>,
    /// Host that web hooks may point to: HOST or HOST:PORT; may be repeated. Only public addresses
    #[arg(long, value_name = "HOST")]
    pub hook_allow: Vec<String>,
    /// Host that web hooks may point to even if its address belongs to this machine or to a private network
    #[arg(long, value_name = "HOST")]
    pub hook_allow_private: Vec<String>,
    /// PEM file with the certificates that are trusted for web hooks over https
    #[arg(long, value_name = "FILE")]
    pub hook_certificates: Option<PathBuf>,
    /// Write a line to standard error for every request
    #[arg(long)]
    pub log: bool,
}

/// `okl token`.
#[derive(Args, Debug)]
pub struct Token {
    /// What to do
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// The commands of `okl token`.
#[derive(Subcommand, Debug)]
pub enum TokenCommand {
    /// Make a token: add its hash to the token file and print it once
    New(NewToken),
}

/// `okl token new`.
#[derive(Args, Debug)]
pub struct NewToken {
    /// Name of the token, for messages
    #[arg(long)]
    pub name: String,
    /// Rights, separated by commas: predict, learn, read (snapshots and stored rows), admin (all, and to create and delete models)
    #[arg(long, required = true)]
    pub rights: Vec<Names>,
    /// Models, separated by commas; * is all models
    #[arg(long, required = true)]
    pub models: Vec<Names>,
    /// The token file
    #[arg(long, default_value = "tokens", value_name = "FILE")]
    pub file: PathBuf,
}
