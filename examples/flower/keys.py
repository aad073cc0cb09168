"""Make certificates for the SuperLink and key pairs for the nodes."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM, PLAIN = serialization.Encoding.PEM, serialization.NoEncryption()


def make_certificates(folder):
    """Write ``ca.crt``, ``server.pem`` and ``server.key`` for a SuperLink on this machine."""
    authority, key = (
        ec.generate_private_key(ec.SECP384R1()),
        ec.generate_private_key(ec.SECP384R1()),
    )
    issuer, subject = _name("terrafl example authority"), _name("localhost")
    own_ca = _certificate(issuer, issuer, authority.public_key())
    own_ca = own_ca.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    places = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    server = _certificate(subject, issuer, key.public_key())
    server = server.add_extension(x509.SubjectAlternativeName(places), critical=False)
    for name, certificate in (("ca.crt", own_ca), ("server.pem", server)):
        signed = certificate.sign(authority, hashes.SHA384())
        (folder / name).write_bytes(signed.public_bytes(PEM))
    secret = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, PLAIN)
    _write_secret(folder / "server.key", secret)


def make_node_key(path):
    """Write a node's private key, and its public key as ``.pub`` in the same folder."""
    key = ec.generate_private_key(ec.SECP384R1())
    _write_secret(path, key.private_bytes(PEM, serialization.PrivateFormat.OpenSSH, PLAIN))
    openssh = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    path.with_suffix(".pub").write_bytes(key.public_key().public_bytes(*openssh))


def _write_secret(path, data):
    path.touch(mode=0o600)
    path.write_bytes(data)


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(subject, issuer, public_key):
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=7))
    )
