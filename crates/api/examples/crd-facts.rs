//! Prints the facts of the CustomResourceDefinition in a YAML file, in the form of `facts/*.facts`.
#![allow(clippy::print_stdout)]

use quintet_api::crd::facts;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: crd-facts FILE")?;
    let crd: serde_json::Value = serde_saphyr::from_str(&std::fs::read_to_string(file)?)?;
    for fact in facts::facts(&crd) {
        println!("{fact}");
    }
    Ok(())
}
