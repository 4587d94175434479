# Forget two hosts and say which.
set -e
for name in one two; do
    ssh-keygen -R "$name.example.org" -f data/known_hosts >/dev/null 2>&1
    echo "removed $name"
done
