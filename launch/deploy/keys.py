"""`tagma keys`: a certificate authority, TLS certificates and node keys for one deployment.

    FOLDER/ca.key, ca.crt                 the authority; ca.key goes nowhere
    FOLDER/superlink/                     server.crt, server.key, ca.crt, executor.secret
    FOLDER/proxy/                         server.crt, server.key, ca.crt
    FOLDER/executor/                      ca.crt, executor.secret
    FOLDER/control/                       ca.crt and every node's public key, to register them
    FOLDER/node-0/, node-1/, ...          key, ca.crt

Each subfolder is what one party needs and no more. Files that are there are kept, so a second call
with more nodes adds theirs. Keys are P-384, as Flower wants them for nodes.

Certificates end: the servers' after a year, the authority's after ten. To renew is to make them
anew for the same names; the authority keeps its key, so nodes that have its old certificate trust
the new ones of servers as long as the old one lasts.
"""

import os
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP384R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from tagma.errors import TagmaError
from tagma.escaping import one_line
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import say

CA, SECRET, KEY = "ca.crt", "executor.secret", "key"
_SERVER_DAYS, _AUTHORITY_DAYS = 365, 3650
_NAME = "Tagma deployment"
T = TypeVar("T")
_HELP = """A certificate authority, TLS certificates and node keys for one deployment.

FOLDER gets a subfolder for every party, with what it needs and no more. Files that are there are
kept: a second call with more nodes adds theirs.

  tagma keys keys --nodes 6
  tagma keys keys --nodes 6 --superlink superlink.example.org --proxy proxy.example.org
  tagma keys keys --renew      new certificates; then start SuperLink and proxy again"""


def main(arguments: list[str]) -> None:
    """Make what is missing."""
    parser = CommandLine("keys", _HELP)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--nodes", type=at_least(0), metavar="N", help="how many nodes there are")
    parser.add_argument(
        "--superlink", nargs="+", default=["localhost", "127.0.0.1"], metavar="HOST",
        help="names and addresses by which the SuperLink is reached",
    )  # fmt: skip
    parser.add_argument(
        "--proxy", nargs="+", default=[], metavar="HOST",
        help="names and addresses by which nodes reach the proxy in front of it",
    )  # fmt: skip
    parser.add_argument("--owner", type=int, metavar="UID", help="hand the subfolders to this user")
    parser.add_argument(
        "--renew", action="store_true", help="make all certificates anew, for the same names"
    )
    given = parser.read(arguments)
    if given.nodes is None and not given.renew:
        parser.error("the following arguments are required: --nodes")
    if given.renew:
        renew_certificates(given.folder)
    if given.nodes is not None:
        make_keys(given.folder, nodes=given.nodes, superlink=given.superlink, proxy=given.proxy)
    if given.owner is not None:
        for path in given.folder.glob("*/**/*"):
            os.chown(path, given.owner, given.owner)
        for place in given.folder.iterdir():
            if place.is_dir():
                os.chown(place, given.owner, given.owner)
    ends = min(certificate.not_valid_after_utc for certificate in _certificates(given.folder))
    say(f"keys: {given.folder} (certificates end on {ends:%Y-%m-%d}; tagma keys --renew)")


def make_keys(
    folder: Path, *, nodes: int, superlink: Sequence[str], proxy: Sequence[str] = ()
) -> None:
    """Make all keys and certificates of a deployment that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    _authority(folder)
    _certificate(folder, "superlink", superlink)
    if proxy:
        _certificate(folder, "proxy", proxy)
    secret = folder / "superlink" / SECRET
    if not secret.exists():
        _write(secret, secrets.token_hex(32).encode(), private=True)
    _write(_place(folder, "executor") / SECRET, secret.read_bytes(), private=True)
    control = _place(folder, "control")
    for number in range(nodes):
        key = _place(folder, f"node-{number}") / KEY
        if not key.exists():
            private = generate_private_key(SECP384R1())
            public = private.public_key()
            openssh = public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
            _write(control / f"node-{number}.pub", openssh)
            _write(key, _private_bytes(private, PrivateFormat.OpenSSH), private=True)


def renew_certificates(folder: Path) -> None:
    """Make the certificates of a deployment anew, for the names that they have."""
    for name in ("ca.key", CA):
        if not (folder / name).is_file():
            raise TagmaError(f"{folder}: has no {name}, with which certificates are made")
    key = _authority_key(folder)
    _write(folder / CA, _own_certificate(key).public_bytes(Encoding.PEM))
    for place in [path for path in folder.iterdir() if (path / CA).is_file()]:
        _write(place / CA, (folder / CA).read_bytes())
        if (place / "server.crt").is_file():
            old = _read(place / "server.crt", x509.load_pem_x509_certificate)
            names = old.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            _sign_server(folder, place.name, names)


def _certificates(folder: Path) -> list[x509.Certificate]:
    paths = [folder / CA, *folder.glob("*/server.crt")]
    return [_read(path, x509.load_pem_x509_certificate) for path in paths]


def _place(folder: Path, party: str) -> Path:
    place = folder / party
    place.mkdir(exist_ok=True)
    _write(place / CA, (folder / CA).read_bytes())
    return place


def _authority(folder: Path) -> None:
    if (folder / CA).exists():
        return
    key = generate_private_key(SECP384R1())
    _write(folder / "ca.key", _private_bytes(key, PrivateFormat.PKCS8), private=True)
    _write(folder / CA, _own_certificate(key).public_bytes(Encoding.PEM))


def _own_certificate(key: EllipticCurvePrivateKey) -> x509.Certificate:
    return (
        _builder(_NAME, _NAME, key.public_key(), _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA384())
    )


def _authority_key(folder: Path) -> EllipticCurvePrivateKey:
    def parse(content: bytes) -> EllipticCurvePrivateKey:
        key = load_pem_private_key(content, password=None)
        if not isinstance(key, EllipticCurvePrivateKey):
            raise ValueError("it is of another kind")
        return key

    return _read(folder / "ca.key", parse)


def _read(path: Path, parse: Callable[[bytes], T]) -> T:
    """What is in a file; one that is damaged, encrypted or something else is one line."""
    try:
        return parse(path.read_bytes())
    except (ValueError, TypeError, UnsupportedAlgorithm) as problem:
        raise TagmaError(f"{path}: cannot be used ({one_line(problem, 80)})") from None


def _certificate(folder: Path, party: str, hosts: Sequence[str]) -> None:
    if not (_place(folder, party) / "server.crt").exists():
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        _sign_server(folder, party, names)


def _sign_server(folder: Path, party: str, names: x509.SubjectAlternativeName) -> None:
    authority, key = _authority_key(folder), generate_private_key(SECP384R1())
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    server = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH])
    certificate = (
        _builder(party, _NAME, key.public_key(), _SERVER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(server, critical=False)
        .add_extension(names, critical=False)
        .add_extension(identifier, critical=False)
        .sign(authority, hashes.SHA384())
    )
    _write(folder / party / "server.key", _private_bytes(key, PrivateFormat.PKCS8), private=True)
    _write(folder / party / "server.crt", certificate.public_bytes(Encoding.PEM))


def _builder(
    subject: str, issuer: str, public: EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_common_name(subject))
        .issuer_name(_common_name(issuer))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _common_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private_bytes(key: EllipticCurvePrivateKey, form: PrivateFormat) -> bytes:
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


def _write(path: Path, content: bytes, *, private: bool = False) -> None:
    """Whole or not at all, and never readable by others if private."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    mode = 0o600 if private else 0o644
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    os.replace(partial, path)
