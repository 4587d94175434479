# Upgrade the package and say so.
set -e
dpkg --root=data --log=/dev/null --force-not-root --force-bad-path --no-force-unsafe-io -i app-2.deb >/dev/null
echo 'installed 2'
