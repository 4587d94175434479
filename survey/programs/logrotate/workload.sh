# Rotate the log and say so.
set -e
logrotate --force --state "$PWD/data/status" rotate.conf
echo 'rotated'
