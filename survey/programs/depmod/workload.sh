# Install a module as a package would and say so.
set -e
cp two.ko data/lib/modules/6.0/kernel
sync data/lib/modules/6.0/kernel/two.ko data/lib/modules/6.0/kernel
depmod -b data 6.0
echo 'indexed'
