# Three files to copy; one of them has an older version in the copy.
set -e
mkdir source data/copy
for name in one two three; do
    seq -f "$name, line %g" 400 >"source/$name"
done
seq -f 'one of last week, line %g' 300 >data/copy/one
