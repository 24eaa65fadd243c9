//! The text below the help of each command: examples that work as written, and the exit codes.

macro_rules! after_help {
    ($($line:literal)*) => {
        concat!("Examples:\n", $("  ", $line, "\n",)* "\n\
Exit codes: 0 done; 1 a file cannot be read or written, or a row is wrong; 2 the command or a setting is wrong, or \
does not fit the columns of the data, which the header and the first row decide; \
130, 143, 129 stopped by SIGINT (Ctrl-C), SIGTERM or SIGHUP (`okl learn` saves its model first). \
If the reader of standard output closes it early (as `head` does), that is not an error: 0.")
    };
}

pub(super) const OKL: &str = after_help! {
    "okl demo --out demo"
    "okl learn data.csv --target label -o m.okl"
    "okl predict m.okl new.csv > scores.csv"
    "okl learn --help"
};

pub(super) const DEMO: &str = after_help! { "okl demo --out demo" };

pub(super) const LEARN: &str = after_help! {
    "okl learn data.csv --target label -o m.okl --report report.html"
    "okl learn data.csv --target label --ignore id,'\"name, first\"' --test test.csv"
    "okl learn houses.csv --target price --task numbers --memory 64MB"
    "okl learn traffic.csv --task novelty --nu 0.01 --predictions alerts.csv"
    "cat data.csv | okl learn - --target label --task classes --predictions -"
    "okl learn monday.csv tuesday.csv --target label -o m.okl"
    "okl learn more.csv --resume m.okl -o m2.okl"
};

pub(super) const PREDICT: &str = after_help! {
    "okl predict m.okl new.csv > scores.csv"
    "cat new.csv | okl predict m.okl - --predictions-format jsonl"
    "okl predict m.okl new.csv --keep x,label > scores.csv"
};

pub(super) const EVALUATE: &str = after_help! {
    "okl evaluate m.okl labelled.csv"
    "okl evaluate m.okl labelled.csv --by country --json"
};

pub(super) const INSPECT: &str = after_help! {
    "okl inspect m.okl"
    "okl inspect m.okl --json"
};

pub(super) const FREEZE: &str = after_help! { "okl freeze m.okl -o plain.okl" };

pub(super) const EXPORT: &str = after_help! {
    "okl export m.okl --to onnx -o m.onnx"
    "okl export m.okl --to json -o -"
};

#[cfg(feature = "serve")]
pub(super) const SERVE: &str = after_help! {
    "okl serve models --listen 127.0.0.1:7878"
    "okl serve models --listen 0.0.0.0:7878 --token-file tokens"
};

#[cfg(feature = "serve")]
pub(super) const TOKEN: &str = after_help! {
    "okl token new --name sensor --rights predict,learn --models boiler"
};
