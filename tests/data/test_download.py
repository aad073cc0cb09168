"""Fetching one file, from a real https server on this machine."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from terrafl.data.download import download
from terrafl.errors import DataError

KEPT = 2 * 2**14  # of 40,000 bytes, in whole chunks


@pytest.fixture
def destination(tmp_path, file) -> Path:
    return tmp_path / "new" / "folder" / file.name


def _left(destination: Path) -> list[str]:
    return sorted(path.name for path in destination.parent.glob("*"))


def test_a_file_arrives_whole_and_alone(server, destination, file, stored):
    heard = []

    path = download(file, destination, server.base_url, lambda *news: heard.append(news))

    assert path == destination
    assert path.read_bytes() == stored
    assert _left(destination) == ["set.gz"]
    assert heard[-1] == ("set.gz", len(stored), len(stored))
    assert [here for _, here, _ in heard] == sorted(here for _, here, _ in heard)


def test_after_a_cut_the_download_goes_on_where_it_stopped(server, destination, file, stored):
    server.cut_at = 40_000
    with pytest.raises(DataError, match=r"IncompleteRead.*resumes where it stopped\."):
        download(file, destination, server.base_url)
    assert _left(destination) == ["set.gz.part"]

    server.cut_at = None
    download(file, destination, server.base_url)

    assert server.ranges == [None, f"bytes={KEPT}-"]
    assert destination.read_bytes() == stored
    assert _left(destination) == ["set.gz"]


def test_a_server_that_cannot_resume_sends_everything_again(server, destination, file, stored):
    server.cut_at = 40_000
    with pytest.raises(DataError):
        download(file, destination, server.base_url)

    server.cut_at, server.honours_range = None, False
    download(file, destination, server.base_url)

    assert server.ranges == [None, f"bytes={KEPT}-"]
    assert destination.read_bytes() == stored


def test_a_server_that_resumes_elsewhere_is_not_believed(server, destination, file):
    server.cut_at = 40_000
    with pytest.raises(DataError):
        download(file, destination, server.base_url)

    server.cut_at, server.lies_about_range = None, True
    with pytest.raises(DataError, match=f"must send bytes from {KEPT}"):
        download(file, destination, server.base_url)


def test_a_cut_is_noticed_when_the_server_tells_no_length(server, destination, file):
    server.cut_at, server.tells_length = 40_000, False

    with pytest.raises(DataError, match=r"must be the published file .* got another"):
        download(file, destination, server.base_url)

    assert _left(destination) == []


def test_of_wrong_content_nothing_is_kept(server, destination, file, content):
    server.body = gzip.compress(content[:-1] + b"!")

    with pytest.raises(DataError, match=r"the published file with the hash md5:.* kept"):
        download(file, destination, server.base_url)

    assert _left(destination) == []


def test_wrong_content_does_not_replace_what_is_there(server, destination, file):
    destination.parent.mkdir(parents=True)
    destination.write_bytes(b"old")
    server.body = b"not the file"

    with pytest.raises(DataError, match="must be the published file"):
        download(file, destination, server.base_url)

    assert destination.read_bytes() == b"old"


@pytest.mark.parametrize("tells_length", [True, False])
def test_more_than_the_file_may_hold_is_not_stored(server, destination, tells_length, file):
    server.body, server.tells_length = b"\0" * (file.limit + 1), tells_length

    with pytest.raises(DataError, match=f"must have at most {file.limit} bytes"):
        download(file, destination, server.base_url)

    assert _left(destination) == []


def test_a_file_announced_too_long_is_not_even_begun(server, destination, file):
    server.body = b"\0" * (file.limit + 1)
    heard = []

    with pytest.raises(DataError, match="must have at most"):
        download(file, destination, server.base_url, lambda *news: heard.append(news))

    assert heard == []


def test_of_a_whole_partial_file_nothing_is_sent_again(server, destination, file, stored):
    destination.parent.mkdir(parents=True)
    destination.with_name("set.gz.part").write_bytes(stored)

    download(file, destination, server.base_url)

    assert server.ranges == [f"bytes={len(stored)}-"]
    assert destination.read_bytes() == stored


def test_a_partial_file_as_long_as_the_file_and_wrong_is_started_again(
    server, destination, file, stored
):
    destination.parent.mkdir(parents=True)
    destination.with_name("set.gz.part").write_bytes(b"\0" * len(stored))

    with pytest.raises(DataError, match="got another file"):
        download(file, destination, server.base_url)
    download(file, destination, server.base_url)

    assert server.ranges == [f"bytes={len(stored)}-", None]
    assert destination.read_bytes() == stored


def test_http_is_refused(server, destination, file):
    with pytest.raises(DataError, match="No connection adapters were found for 'http://127"):
        download(file, destination, server.base_url.replace("https", "http"))

    assert server.ranges == []


def test_a_redirection_to_http_is_refused(server, destination, file):
    server.redirect_to = server.base_url.replace("https", "http") + "moved"

    with pytest.raises(DataError, match="No connection adapters were found for 'http://127"):
        download(file, destination, server.base_url)

    assert _left(destination) == []


def test_a_redirection_to_https_is_followed(server, destination, file, stored):
    server.redirect_to = server.base_url + "moved"

    download(file, destination, server.base_url)

    assert destination.read_bytes() == stored


def test_a_server_with_an_unknown_certificate_is_refused(server, destination, file, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")

    with pytest.raises(DataError, match="CERTIFICATE_VERIFY_FAILED"):
        download(file, destination, server.base_url)


def test_without_a_server_the_error_says_which_file_to_put_where(destination, file):
    base_url = "https://127.0.0.1:1/"

    with pytest.raises(
        DataError, match=r"could not download https://127\.0\.0\.1:1/set\.gz"
    ) as raised:
        download(file, destination, base_url)

    assert "Connection refused" in str(raised.value)
    assert f"put the file at {destination};" in str(raised.value)
    assert file.known_hash in str(raised.value)


def test_a_folder_that_cannot_be_made_is_one_sentence(server, tmp_path, file):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(DataError, match="could not download"):
        download(file, tmp_path / "file" / "set.gz", server.base_url)
