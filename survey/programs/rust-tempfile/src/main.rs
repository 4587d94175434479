//! Replace a file three times and say which version is saved. Arguments: "start" writes the first version.
use std::io::{Result, Write};
use tempfile::NamedTempFile;

fn save(number: u32) -> Result<()> {
    let mut file = NamedTempFile::new_in("data")?;
    file.write_all(format!("version {number}\n").repeat(500).as_bytes())?;
    file.persist("data/config")?;
    println!("saved {number}");
    Ok(())
}

fn main() -> Result<()> {
    let start = std::env::args().len() > 1;
    (if start { 0..=0 } else { 1..=3 }).try_for_each(save)
}
