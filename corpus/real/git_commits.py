"""Make a git repository with three commits of several files, and print each commit.

Arguments: FOLDER [NAME=VALUE ...], the latter being git configuration such as core.fsync=all.
"""

import os
import subprocess
import sys

folder, *settings = sys.argv[1:]
os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)


def git(*arguments: str) -> str:
    """Run git in the folder and return what it printed."""
    done = subprocess.run(["git", "-C", folder, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


git("init", "--quiet", "--template=", "--initial-branch=main")
for setting in ["user.name=Corpus", "user.email=corpus@example.org", "gc.auto=0", *settings]:
    git("config", *setting.split("=", 1))
for number in (1, 2, 3):
    for name in ("first.txt", "second.txt", f"only-{number}.txt"):
        with open(os.path.join(folder, name), "w") as file:
            file.write(f"{name}, version {number}\n")
    git("add", "--all")
    git("commit", "--quiet", "--message", f"version {number}")
    print("commit", git("rev-parse", "HEAD"))
