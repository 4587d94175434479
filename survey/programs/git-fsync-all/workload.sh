# Commit versions of a file and say which is committed. The dates are fixed, and with them the names of the objects.
# Arguments: the numbers of the versions.
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_DATE='2026-01-02T00:00:00Z' GIT_COMMITTER_DATE='2026-01-02T00:00:00Z'
cd data
for number in "$@"; do
    echo "version $number" >notes.txt
    git add notes.txt
    git commit -q -m "commit $number"
    echo "committed $number"
done
