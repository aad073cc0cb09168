"""A real https server on this machine, for whatever is fetched."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@dataclass
class Server:
    """An https server on this machine: what it does, and what it was asked."""

    base_url: str = ""
    body: bytes = b""
    cut_at: int | None = None
    honours_range: bool = True
    lies_about_range: bool = False
    tells_length: bool = True
    redirect_to: str = ""
    ranges: list[str | None] = field(default_factory=list)


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            server.ranges.append(asked)
            if server.redirect_to and self.path != "/moved":
                self.send_response(302)
                self.send_header("Location", server.redirect_to)
                self.end_headers()
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            if not server.honours_range:
                start = 0
            if start >= len(server.body):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                told = start - 1 if server.lies_about_range else start
                self.send_header("Content-Range", f"bytes {told}-/{len(server.body)}")
            if server.tells_length:
                self.send_header("Content-Length", str(len(server.body) - start))
            self.end_headers()
            self.wfile.write(server.body[start : server.cut_at])
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> Path:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed: no certificate for a local https server")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    key, cert = path.with_name("key.pem"), path.with_name("cert.pem")
    subprocess.run(
        [openssl, "req", *kind, *name, "-keyout", str(key), "-out", str(cert)],
        check=True,
        capture_output=True,
    )
    path.write_bytes(key.read_bytes() + cert.read_bytes())
    return path


@pytest.fixture
def server(certificate, monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))  # trust it
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # which would go first
        monkeypatch.delenv(variable, raising=False)
    server = Server()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(server)) as httpd:
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
        server.base_url = f"https://127.0.0.1:{httpd.server_address[1]}/"
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        httpd.shutdown()
        thread.join()
