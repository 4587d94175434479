# Two versions of a package, and a system in data on which the first is installed.
set -e
for version in 1 2; do
    mkdir -p "app-$version/DEBIAN" "app-$version/usr/share/app"
    printf 'Package: app\nVersion: %s\nArchitecture: all\nMaintainer: survey <survey@example.org>\nDescription: survey\n' \
        "$version" >"app-$version/DEBIAN/control"
    for name in one two; do
        seq -f "$name of version $version, line %g" 300 >"app-$version/usr/share/app/$name"
    done
    (cd "app-$version" && md5sum usr/share/app/* >DEBIAN/md5sums)
    dpkg-deb --root-owner-group -b "app-$version" "app-$version.deb" >/dev/null
done
mkdir -p data/var/lib/dpkg/info data/var/lib/dpkg/updates data/var/lib/dpkg/triggers
touch data/var/lib/dpkg/status
dpkg --root=data --log=/dev/null --force-not-root --force-bad-path -i app-1.deb >/dev/null
