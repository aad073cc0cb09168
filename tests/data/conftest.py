from __future__ import annotations

import gzip
import hashlib
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from terrafl.data import Dataset, Examples, Normalisation, Partition
from terrafl.data.download import Source
from terrafl.data.files import DataFile

MakeDataset = Callable[..., Dataset]


def _examples(labels: np.ndarray, group: list[str] | None = None) -> Examples:
    owners = None if group is None else np.array(group, dtype=np.str_)
    return Examples(np.zeros((len(labels), 1, 1, 1), dtype=np.uint8), labels, owners)


@pytest.fixture(scope="session")
def of_labels() -> MakeDataset:
    """Make a data set of given labels; inputs are nothing."""

    def make(train, test, *, num_classes=None, train_group=None, test_group=None) -> Dataset:
        train, test = (np.asarray(labels, dtype=np.int64) for labels in (train, test))
        most = int(np.concatenate([train, test]).max(initial=0)) + 1
        return Dataset(
            name="made-up",
            train=_examples(train, train_group),
            test=_examples(test, test_group),
            num_classes=num_classes or most,
            normalisation=Normalisation(),
        )

    return make


@pytest.fixture(scope="session")
def balanced(of_labels) -> MakeDataset:
    """Make a data set with equally many examples of each class, in mixed order."""

    def make(train: int, test: int, num_classes: int) -> Dataset:
        generator = np.random.default_rng(7)
        labels = (generator.permutation(np.arange(n) % num_classes) for n in (train, test))
        return of_labels(*labels, num_classes=num_classes)

    return make


@pytest.fixture(scope="session")
def fmnist_like(balanced) -> Dataset:
    return balanced(60000, 10000, 10)


@pytest.fixture(scope="session")
def digits_like(balanced) -> Dataset:
    return balanced(1437, 360, 10)


@pytest.fixture(scope="session")
def assert_dealt() -> Callable[[Partition, Dataset], None]:
    """Assert that each example has exactly one owner."""

    def check(partition: Partition, dataset: Dataset) -> None:
        assert sorted(partition.train.indices.tolist()) == list(range(len(dataset.train)))
        assert sorted(partition.test.indices.tolist()) == list(range(len(dataset.test)))

    return check


@pytest.fixture(scope="session")
def counts_of() -> Callable[[Partition, Dataset], tuple[np.ndarray, np.ndarray]]:
    """Count, the slow way, the examples of each class (column) that each client (row) holds."""

    def count(partition: Partition, dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
        return tuple(
            np.array([np.bincount(labels[row], minlength=dataset.num_classes) for row in rows])
            for rows, labels in (
                (partition.train, dataset.train.y),
                (partition.test, dataset.test.y),
            )
        )

    return count


@pytest.fixture(scope="session")
def content() -> bytes:
    return np.random.default_rng(0).integers(0, 4, 300_000).astype(np.uint8).tobytes()


@pytest.fixture(scope="session")
def stored(content) -> bytes:
    return gzip.compress(content, mtime=0)


@pytest.fixture(scope="session")
def file(content) -> DataFile:
    digest = hashlib.sha256(content).hexdigest()
    return DataFile(name="set.gz", size=len(content), sha256=digest)


@dataclass
class Server:
    """An https server on this machine: what it does, and what it was asked."""

    base_url: str = ""
    context: ssl.SSLContext | None = None
    body: bytes = b""
    cut_at: int | None = None
    honours_range: bool = True
    lies_about_range: bool = False
    tells_length: bool = True
    redirect_to: str = ""
    ranges: list[str | None] = field(default_factory=list)

    @property
    def source(self) -> Source:
        return Source(base_url=self.base_url, context=self.context, timeout_s=5.0)


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
def server(certificate, stored) -> Iterator[Server]:
    server = Server(body=stored, context=ssl.create_default_context(cafile=str(certificate)))
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
