"""Runs a command of the checkout under another kernel, in a virtual machine that needs no hardware support.

Before: QEMU and a static busybox are installed; the kernel's modules are in `lib/modules` beside its `boot` folder,
wherever that is. The host's files stand still while the command runs: the guest keeps what it read of them.

In the guest: the command runs as root in the folder of the checkout, with all the host's files. What it writes goes to
memory and is gone afterwards. Modules that the boot does not need are loaded when the kernel asks for them, as ever.
`POWERCUT_*`, `PATH` and `HOME` are the caller's.

After: the command's lines were shown as they came, its status is returned, and what it wrote to the file that
`POWERCUT_VM_OUTPUT` names is in `--output`. The machine is gone, however it ended, and so is its folder. A machine that
did not start, or ended without a status, is a `MachineFailure`, never a status of the command.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
OWN = "/run/powercut-vm"  # in the guest: a folder in memory for what belongs to the machine and not to the host
OUTPUT = f"{OWN}/output/file"
XZ = b"\xfd7zXZ\0"
AT_ONCE = partial(print, end="", flush=True)
# What reaches the host's files, and two that make device nodes which programs open without asking for a module.
BOOT_MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "loop", "fuse")
# Warnings and worse alone, for an emulated serial line is slow; a kernel that went wrong ends the machine; nothing is
# secret there, and a busy host is no lockup.
KERNEL_OPTIONS = "console=ttyS0 loglevel=5 panic=-1 oops=panic mitigations=off nokaslr tsc=reliable nowatchdog"
SHARE = "trans=virtio,version=9p2000.L,msize=512000"  # about the most that the transport takes at once
INIT = f"""#!/bin/busybox sh
set -e
/bin/busybox --install -s /bin
for each in dev=devtmpfs sys=sysfs proc=proc; do mount -t ${{each#*=}} ${{each%=*}} /${{each%=*}}; done
for module in $(cat /modules); do insmod /$module; done
ifconfig lo up
mount -t 9p -o {SHARE},ro,cache=loose host /host
mount -t tmpfs -o size=75% changes /changes; mkdir /changes/upper /changes/work
mount -t overlay -o lowerdir=/host,upperdir=/changes/upper,workdir=/changes/work root /root
for each in dev sys proc; do mount --move /$each /root/$each; done
mkdir -p /root/dev/shm /root/dev/pts /root/lib/modules/VERSION
mount -t devpts devpts /root/dev/pts
for each in dev/shm run; do mount -t tmpfs tmpfs /root/$each; done
mount -o bind /rootMODULES /root/lib/modules/VERSION
mkdir -p /root{OWN}/output; cp /command /root{OWN}/
exec switch_root /root /bin/sh {OWN}/command
"""
# The command writes to a pipe, because a port takes no more than 32 KiB at once and has one opener. Whoever holds the
# pipe after the command is killed, so that its end is seen; the status is told when all lines were taken.
SCRIPT = f"""
until [ -c /dev/vport0p1 ] && [ -c /dev/vport0p2 ]; do sleep 0.02; done
mount -t 9p -o {SHARE},cache=none output {OWN}/output
mkfifo {OWN}/lines
cat < {OWN}/lines > /dev/vport0p1 & lines=$!
COMMAND > {OWN}/lines 2>&1 < /dev/null; status=$?
for each in /proc/[0-9]*; do
    case "${{each#/proc/}}" in 1 | "$lines") ;; *) kill -9 "${{each#/proc/}}" 2> /dev/null ;; esac
done
wait "$lines"
echo "$status" > /dev/vport0p2
echo b > /proc/sysrq-trigger
"""


class MachineFailure(Exception):
    """Why there is no status of the command; the one to end with instead is that of timeout(1)."""

    status = 125


class TimeIsUp(MachineFailure):
    status = 124


def newest_kernel(folder: Path = Path("/boot")) -> Path:
    images = sorted(folder.glob("vmlinuz-*"), key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])
    if not images:
        raise MachineFailure(f"there is no kernel image in {folder}: apt install linux-image-amd64")
    return images[-1]


def modules_of(kernel: Path) -> Path:
    if not kernel.is_file():
        raise MachineFailure(f"no such kernel image: {kernel}")
    root, version = kernel.resolve().parents[1], kernel.resolve().name.removeprefix("vmlinuz-")
    folder = root / "lib/modules" / version
    if not (folder / "modules.dep").is_file():
        hint = f"depmod -b {root} {version} makes it" if folder.is_dir() else "install or unpack the whole package"
        raise MachineFailure(f"{kernel} has no modules: {folder}/modules.dep is not there; {hint}")
    return folder


def program(name: str, package: str) -> str:
    if found := shutil.which(name):
        return found
    raise MachineFailure(f"{name} is not installed: apt install {package}")


def module_name(file: str) -> str:
    return Path(file).name.partition(".")[0].replace("-", "_")


def boot_modules(folder: Path) -> dict[str, bytes]:
    """Those that the boot needs and that are no part of the kernel, each after the ones that it needs itself."""
    needed = {module_name(line): [] for line in (folder / "modules.builtin").read_text().splitlines()}
    for line in (folder / "modules.dep").read_text().splitlines():
        file, _, others = line.partition(":")
        needed[module_name(file)] = [*reversed(others.split()), file]
    if missing := [name for name in BOOT_MODULES if name not in needed]:
        raise MachineFailure(f"{folder} lacks {', '.join(missing)}")
    packed = {f"{module_name(file)}.ko": (folder / file).read_bytes() for name in BOOT_MODULES for file in needed[name]}
    return {name: lzma.decompress(data) if data.startswith(XZ) else data for name, data in packed.items()}


def archive(files: Mapping[str, bytes], folders: Iterable[str]) -> bytes:
    """A cpio archive in the format "newc", which a kernel takes for its first file system."""
    entries = [(name, 0o040755, b"") for name in folders] + [(name, 0o100755, data) for name, data in files.items()]
    out = bytearray()
    for number, (name, mode, data) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        out += head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)
    return bytes(out)


def initramfs(modules: Path, command: Sequence[str], output: bool) -> bytes:
    busybox = Path(program("busybox", "busybox-static")).read_bytes()
    if b"/ld-linux" in busybox:
        raise MachineFailure("busybox needs shared libraries: apt install busybox-static")
    told = {name: text for name, text in os.environ.items() if re.fullmatch("PATH|HOME|POWERCUT_.*", name)}
    told |= {"LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"} | ({"POWERCUT_VM_OUTPUT": OUTPUT} if output else {})
    lines = [f"export {name}={shlex.quote(text)}" for name, text in told.items()]
    lines += [f"cd {shlex.quote(str(CHECKOUT))}", SCRIPT.replace("COMMAND", shlex.join(command))]
    init = INIT.replace("MODULES", shlex.quote(str(modules))).replace("VERSION", modules.name)
    loaded = boot_modules(modules)
    texts = {"modules": "\n".join(loaded), "init": init, "command": "\n".join(lines)}
    files = loaded | {name: text.encode() for name, text in texts.items()} | {"bin/busybox": busybox}
    return archive(files, ("bin", "dev", "sys", "proc", "host", "changes", "root"))


def unpacked(kernel: Path) -> bytes:
    """The kernel itself if its image is packed with xz, which would take the guest seconds; else the image."""
    image = kernel.read_bytes()
    offset, length = (int.from_bytes(image[at : at + 4], "little") for at in (0x248, 0x24C))  # of what is packed
    start = (image[0x1F1] + 1) * 512 + offset  # behind the boot sector and those of the set-up
    packed = image[start : start + length]
    return lzma.LZMADecompressor().decompress(packed) if packed.startswith(XZ) else image


def machine(folder: Path, memory: str) -> list[str]:
    """The command that starts the machine, which does not outlive who started it."""
    words = [program("setpriv", "util-linux"), "--pdeathsig", "KILL", program("qemu-system-x86_64", "qemu-system-x86")]
    words += ["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", memory]
    words += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    words += ["-kernel", f"{folder}/kernel", "-initrd", f"{folder}/initramfs", "-append", KERNEL_OPTIONS]
    words += ["-serial", f"file:{folder}/console", "-device", "virtio-serial-pci"]
    for number, (name, file) in enumerate((("lines", "/dev/stdout"), ("status", f"{folder}/status")), 1):
        words += ["-chardev", f"file,id={name},path={file}", "-device", f"virtserialport,chardev={name},nr={number}"]
    for name, share in (("host", "path=/,readonly=on,multidevs=remap"), ("output", f"path={folder}/output")):
        words += ["-fsdev", f"local,id={name},security_model=none,{share}"]
        words += ["-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
    return words


def watched(words: Sequence[str], folder: Path, seconds: float, show: Callable[[str], object]) -> int:
    with open(folder / "complaints", "wb") as complaints:
        qemu = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints)
    started, clock = time.monotonic(), threading.Timer(seconds, qemu.kill)
    clock.start()
    try:
        for line in qemu.stdout or ():
            show(line.decode(errors="replace"))
    finally:
        clock.cancel()
        qemu.kill()
        qemu.wait()
    files = [folder / name for name in ("status", "complaints", "console")]
    status, *rest = [file.read_text(errors="replace") if file.exists() else "" for file in files]
    if status.endswith("\n"):
        return int(status)
    if time.monotonic() - started >= seconds:
        raise TimeIsUp(f"the command had not ended after {seconds:g} seconds")
    last = "".join(rest).splitlines()[-60:]  # enough for a panic with its registers and calls
    raise MachineFailure("\n".join(["the machine ended without a status of the command; its last words:", *last]))


def run(
    command: Sequence[str],
    kernel: Path | None = None,
    memory: str = "2G",
    seconds: float = 600,
    output: Path | None = None,
    console: Path | None = None,
    show: Callable[[str], object] = AT_ONCE,
) -> int:
    kernel = kernel or newest_kernel()
    modules = modules_of(kernel)
    for target in (output, console):
        if target is not None and not target.absolute().parent.is_dir():
            raise MachineFailure(f"there is no folder {target.parent}")
    with tempfile.TemporaryDirectory(prefix="powercut-vm-") as name:
        folder, written = Path(name), Path(name, "output", Path(OUTPUT).name)
        words = machine(folder, memory)
        written.parent.mkdir()
        (folder / "initramfs").write_bytes(initramfs(modules, command, output is not None))
        (folder / "kernel").write_bytes(unpacked(kernel))
        try:
            status = watched(words, folder, seconds, show)
        finally:
            for source, target in ((written, output), (folder / "console", console)):
                if target is not None and source.exists():
                    shutil.copyfile(source, target)
        if output is not None and not written.exists():
            raise MachineFailure(f"the command ended with status {status} and wrote nothing to $POWERCUT_VM_OUTPUT")
        return status


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kernel.vm", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernel", type=Path, help="its image, vmlinuz-VERSION; the newest in /boot")
    parser.add_argument("--memory", default="2G", help="of the machine, and for all that the command writes (2G)")
    parser.add_argument("--seconds", type=float, default=600, help="after which the machine is stopped (600)")
    parser.add_argument("--output", type=Path, help="gets what the command wrote to the file $POWERCUT_VM_OUTPUT")
    parser.add_argument("--console", type=Path, help="gets what the kernel said")
    parser.add_argument("command", nargs="+", help="and its arguments, behind --")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        return run(**vars(parser.parse_args()))
    except MachineFailure as failure:
        print(f"vm: {failure}", file=sys.stderr)
        return failure.status


if __name__ == "__main__":
    sys.exit(main())
