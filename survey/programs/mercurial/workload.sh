# Commit a version of a file and say so.
set -e
export HGRCPATH= HGPLAIN=1
cd data
echo 'version 1' >notes.txt
hg commit -q -u survey -d '1 0' -m 'commit 1'
echo 'committed 1'
