# Add two users and say which is in.
set -e
for name in alice bob; do
    useradd --prefix "$PWD/data" --no-create-home --user-group "$name"
    echo "added $name"
done
