"""A real browser, driven over its own pipe: what it requests, what it logs, what it shows. No driver to install."""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic", "--disable-extensions", "--disable-dev-shm-usage",
    "--disable-default-apps", "--no-default-browser-check", "--hide-scrollbars", "--remote-debugging-pipe",
]  # fmt: skip


def program() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One tab. Calls are answered in order; events that come meanwhile are kept."""

    def __init__(self, to: int, come: int) -> None:
        self.to, self.come = to, come
        self.read = b""
        self.last = 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._hear()
            if heard.get("id") == self.last:
                assert "error" not in heard, heard
                return heard["result"]
            self.events.append(heard)

    def _hear(self) -> dict[str, Any]:
        while b"\0" not in self.read:
            more = os.read(self.come, 1 << 20)
            assert more, "the browser went away"
            self.read += more
        message, self.read = self.read.split(b"\0", 1)
        return json.loads(message)

    def open(self, file: Path, *, width: int, scheme: str) -> None:
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=file.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._hear())

    def evaluate(self, expression: str) -> Any:
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def requests(self) -> list[str]:
        sent = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("data:")]

    def complaints(self) -> list[str]:
        methods = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed"}
        return [json.dumps(event) for event in self.events if event.get("method") in methods]

    def screenshot(self, file: Path) -> bytes:
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))
        return file.read_bytes()


@contextlib.contextmanager
def running_browser(path: str, home: Path) -> Generator[Browser]:
    """The browser reads its descriptor 3 and writes its descriptor 4."""
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    low = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (their_in, their_out)]
    for end in (their_in, their_out):
        os.close(end)
    script = f'exec 3<&{low[0]} 4>&{low[1]}; exec "$0" "$@"'
    process = subprocess.Popen(
        ["bash", "-c", script, path, *FLAGS, f"--user-data-dir={home}"],
        pass_fds=low, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(home)},
    )  # fmt: skip
    for end in low:
        os.close(end)
    try:
        yield Browser(our_out, our_in)
    finally:
        process.terminate()
        process.wait(20)
        os.close(our_out)
        os.close(our_in)
