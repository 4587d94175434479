# A repository with one commit, in data. Argument: core.fsync, if not git's default.
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
git init -q -b main data
cd data
git config user.name survey
git config user.email survey@example.org
git config gc.auto 0
test -z "$1" || git config core.fsync "$1"
echo 'version 0' >notes.txt
git add notes.txt
GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' git commit -q -m 'commit 0'
rm .git/hooks/*
