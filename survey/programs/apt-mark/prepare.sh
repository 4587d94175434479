# The state of apt for three packages that are installed; one of them was installed on its own.
set -e
mkdir -p data/apt lists/partial
for name in one two three; do
    printf 'Package: %s\nStatus: install ok installed\nArchitecture: all\nVersion: 1\nMaintainer: survey <s@example.org>\nDescription: x\n\n' "$name"
done >status
cat >apt.conf <<END
Dir::State "$PWD/data/apt";
Dir::State::status "$PWD/status";
Dir::State::lists "$PWD/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
END
APT_CONFIG=apt.conf apt-mark auto one >/dev/null
