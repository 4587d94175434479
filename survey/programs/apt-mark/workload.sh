# Mark packages as installed automatically and say which are.
set -e
export APT_CONFIG=apt.conf
for name in two three; do
    apt-mark auto "$name" >/dev/null
    echo "marked $name"
done
