use std::fs::{self, File, OpenOptions};
use std::io::Write;

fn fixed() -> bool {
    std::env::args().nth(1).as_deref() == Some("fixed")
}

fn sync(path: &str) {
    File::open(path).unwrap().sync_all().unwrap();
}

#[inline(never)]
fn config() {
    let mut file = File::create("config.new").unwrap();
    file.write_all(b"theme = dark\n").unwrap(); // LOST config
    if fixed() {
        file.sync_all().unwrap();
    }
    fs::rename("config.new", "config").unwrap(); // SURVIVED config
}

#[inline(never)]
fn entry() {
    fs::write("entry.new", "entry 1\n").unwrap();
    sync("entry.new");
    fs::rename("entry.new", "entry").unwrap(); // LOST entry
    if fixed() {
        sync(".");
    }
    println!("entry"); // ACKED entry
    fs::metadata("entry").unwrap(); // the call above must not be the last: its caller would leave the stack
}

#[inline(never)]
fn table() {
    let name = if fixed() { "table.new" } else { "table" };
    fs::write(name, "new new new\n").unwrap(); // SURVIVED table LOST table
    sync(name);
    if fixed() {
        fs::rename(name, "table").unwrap();
    }
}

#[inline(never)]
fn journal() {
    let mut file = OpenOptions::new().append(true).open("journal").unwrap();
    writeln!(file, "paid 10").unwrap(); // LOST journal
    if fixed() {
        file.sync_all().unwrap();
    }
    println!("paid"); // ACKED journal
    file.sync_all().unwrap();
}

#[inline(never)]
fn order() {
    let mut blob = OpenOptions::new().write(true).open("blob").unwrap();
    let mut index = OpenOptions::new().write(true).open("index").unwrap();
    blob.write_all(b"blob blob\n").unwrap(); // LOST order
    if fixed() {
        blob.sync_all().unwrap();
    }
    index.write_all(b"blob at 0\n").unwrap(); // SURVIVED order
    index.sync_all().unwrap();
    blob.sync_all().unwrap();
}

fn main() {
    for mistake in [config, entry, table, journal, order] {
        mistake();
        sync(".");
    }
}
