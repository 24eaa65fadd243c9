//! The instruction sets this machine can run, one name per line: the values `OKL_BACKEND` takes.

fn main() {
    for backend in okl::gram::Backend::available() {
        println!("{}", backend.name());
    }
}
