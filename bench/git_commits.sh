#!/bin/sh
# Makes a repository and commits to it: git_commits.sh FOLDER COUNT
set -e
cd "$1"
rm -rf repository
git -c init.defaultBranch=main init --quiet repository
cd repository
git config user.name bench
git config user.email bench@example.invalid
git config gc.auto 0
git config core.fsync committed
number=0
while [ "$number" -lt "$2" ]; do
    number=$((number + 1))
    echo "line $number" >>notes
    git add notes
    git commit --quiet --message "commit $number"
done
