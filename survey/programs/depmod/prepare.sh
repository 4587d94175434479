# Two modules that hold nothing but their licence; the index has the first.
set -e
folder=data/lib/modules/6.0
mkdir -p "$folder/kernel"
touch "$folder/modules.order" "$folder/modules.builtin"
for name in one two; do
    echo 'const char licence[] __attribute__((section(".modinfo"))) = "license=GPL";' | gcc -xc -c -o "$name.ko" -
done
cp one.ko "$folder/kernel"
depmod -b data 6.0
