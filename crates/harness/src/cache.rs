use std::path::{Path, PathBuf};

/// Where tools that the tests build or unpack are kept between runs: `$QUINTET_CACHE`, else `quintet` in
/// `$XDG_CACHE_HOME`, else in `~/.cache`.
pub fn cache_dir() -> PathBuf {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("QUINTET_CACHE").unwrap_or_else(|| {
        var("XDG_CACHE_HOME")
            .or_else(|| var("HOME").map(|home| home.join(".cache")))
            .unwrap_or_else(std::env::temp_dir)
            .join("quintet")
    })
}

/// The root of this repository's checkout, where the scripts that build the tools are.
pub fn workspace_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/harness has a root").to_path_buf()
}
