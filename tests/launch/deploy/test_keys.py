"""Keys of a deployment: what is there stays, and certificates are renewed by one command."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from tagma.launch.deploy.keys import make_keys, renew_certificates
from tests.command import tagma


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")} | {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.glob("node-*/key")
    }


def certificate(path):
    return x509.load_pem_x509_certificate(path.read_bytes())


def names(path):
    found = certificate(path).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return found.value


def handshake(server, trust) -> None:
    """Between a server with its files and a client that trusts a certificate."""
    ends = [(ssl.MemoryBIO(), ssl.MemoryBIO())]
    here, there = ends[0]
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(server / "server.crt", server / "server.key")
    asking = ssl.create_default_context(cadata=trust)
    parties = [
        asking.wrap_bio(here, there, server_hostname="fl.example.org"),
        serving.wrap_bio(there, here, server_side=True),
    ]
    for _ in range(4):
        for party in parties:
            try:
                party.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert parties[0].getpeercert()


@pytest.fixture
def keys(tmp_path):
    folder = tmp_path / "keys"
    make_keys(folder, nodes=2, superlink=["127.0.0.1"], proxy=["fl.example.org"])
    return folder


def test_a_second_call_adds_nodes_and_changes_nothing(keys):
    before = contents(keys)
    make_keys(keys, nodes=3, superlink=["elsewhere"], proxy=["elsewhere"])
    after = contents(keys)
    assert {name: after[name] for name in before} == before
    assert (keys / "node-2/key").is_file()


def test_renewed_certificates_have_the_same_names_and_nodes_need_nothing_new(keys):
    before, trusted = contents(keys), (keys / "node-0/ca.crt").read_text()
    kept = {name: names(keys / name) for name in ("superlink/server.crt", "proxy/server.crt")}
    renew_certificates(keys)
    after = contents(keys)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {
        name for name in before if name.endswith(("ca.crt", "server.crt", "server.key"))
    }
    assert {name: names(keys / name) for name in kept} == kept
    assert len({after[name] for name in after if name.endswith("ca.crt")}) == 1
    for trust in (trusted, (keys / "node-0/ca.crt").read_text()):
        handshake(keys / "proxy", trust)
    assert (keys / "proxy/server.key").stat().st_mode & 0o077 == 0


def test_the_authority_outlives_many_certificates_of_servers(keys):
    now = datetime.now(UTC)
    assert certificate(keys / "proxy/server.crt").not_valid_after_utc < now + timedelta(days=366)
    assert certificate(keys / "ca.crt").not_valid_after_utc > now + timedelta(days=3600)


def test_one_command_renews_them_and_says_when_they_end(keys, tmp_path):
    serial = certificate(keys / "proxy/server.crt").serial_number
    done = tagma("keys", "keys", "--renew", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert certificate(keys / "proxy/server.crt").serial_number != serial
    ends = certificate(keys / "proxy/server.crt").not_valid_after_utc
    assert f"certificates end on {ends:%Y-%m-%d}" in done.stdout


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "tagma keys needs --nodes"),
        (["--renew"], "nowhere: has no ca.key, with which certificates are made"),
    ],
)
def test_what_cannot_be_is_one_line(options, reason, tmp_path):
    done = tagma("keys", "nowhere", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert reason in done.stderr.splitlines()[-1]
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["ca.key", "proxy/server.crt"])
def test_a_damaged_key_or_certificate_is_one_line(name, keys, tmp_path):
    (tmp_path / "keys" / name).write_text("junk")
    done = tagma("keys", "keys", "--renew", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"tagma: error: keys/{name}: cannot be used (")
