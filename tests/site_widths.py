"""What is cut off of a site's pages, by a browser that lays them out."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Sequence
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HARNESS = Path(__file__).with_suffix(".html")
PATIENCE = 600


def cut_off(site: Path, pages: Sequence[str], widths: Sequence[int], scratch: Path) -> dict[str, list[str]]:
    """What cannot be seen at widths in pixels, by page; `scratch` is for the browser."""
    answers: Queue[dict[str, list[str]]] = Queue()
    asked = json.dumps({"pages": list(pages), "widths": list(widths)}).encode()

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given, directory=str(site))

        def do_GET(self) -> None:
            if self.path not in ("/harness", "/asked"):
                return super().do_GET()
            kind, content = (
                ("text/html", HARNESS.read_bytes())
                if self.path == "/harness"
                else ("application/json", asked)
            )
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *given: object) -> None:
            pass

    assert CHROMIUM is not None
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = subprocess.Popen(
            [
                CHROMIUM,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                f"--user-data-dir={scratch}",
                f"http://127.0.0.1:{server.server_address[1]}/harness",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return answers.get(timeout=PATIENCE)
        finally:
            browser.kill()
            browser.wait()
            server.shutdown()
