"""Start etcd, put three keys over HTTP and say which is in. Argument: "start" only makes the member, with one key."""

import base64
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def etcd(folder: str):
    """A running member whose data is in a folder; what asks it."""
    port, peers = free_port(), free_port()
    url, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    words = ["--data-dir", folder, "--listen-client-urls", url, "--advertise-client-urls", url]
    words += ["--listen-peer-urls", peer, "--log-level", "error", "--heartbeat-interval", "10"]
    words += ["--election-timeout", "50"]  # so that it starts sooner
    with subprocess.Popen(["etcd", *words], stdout=subprocess.DEVNULL) as member:

        def ask(method: str, **words: str) -> dict:
            body = json.dumps({name: base64.b64encode(word.encode()).decode() for name, word in words.items()})
            for _ in range(400):
                if member.poll() is not None:
                    sys.exit("etcd does not start")
                try:
                    with urllib.request.urlopen(f"{url}/v3/kv/{method}", body.encode(), timeout=5) as answer:
                        return json.load(answer)
                except (urllib.error.URLError, ConnectionError):
                    time.sleep(0.02)
            sys.exit("etcd does not answer")

        try:
            yield ask
        finally:
            member.terminate()


if __name__ == "__main__":
    numbers = [0] if "start" in sys.argv else [1, 2, 3]
    with etcd("data/member") as ask:
        for number in numbers:
            ask("put", key=f"key-{number}", value=f"value {number} " * 20)
            print("put", number, flush=True)
