# Compile the program with the crates of Debian and write the first version. Argument: the folder of the code.
set -e
cp -r "$1/Cargo.toml" "$1/src" .
cargo build --quiet --offline --config 'source.crates-io.replace-with = "debian"' \
    --config 'source.debian.directory = "/usr/share/cargo/registry"'
target/debug/program start
