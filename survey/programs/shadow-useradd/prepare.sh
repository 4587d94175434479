# The four files of a system that has only root, in data/etc.
set -e
mkdir data/etc
echo 'root:x:0:0:root:/root:/bin/sh' >data/etc/passwd
echo 'root:*:19000:0:99999:7:::' >data/etc/shadow
echo 'root:x:0:' >data/etc/group
echo 'root:*::' >data/etc/gshadow
chmod 640 data/etc/shadow data/etc/gshadow
