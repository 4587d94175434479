# A repository with one commit, in data.
set -e
export HGRCPATH= HGPLAIN=1
hg init data
cd data
echo 'version 0' >notes.txt
hg commit -q -A -u survey -d '0 0' -m 'commit 0'
