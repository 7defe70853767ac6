//! The `quintet` program. Everything it does is in the library beside it.

fn main() -> std::process::ExitCode {
    quintet::main()
}
