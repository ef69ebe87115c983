"""Certificates, keys and tokens of one control plane, made anew for each; they are worth nothing elsewhere."""

import secrets
from dataclasses import dataclass
from pathlib import Path

import trustme
import yaml


@dataclass(frozen=True)
class Credentials:
    """Files that the API server reads. `key` signs service account tokens as well."""

    authority: Path
    certificate: Path
    key: Path
    tokens: Path
    administrator: str

    @classmethod
    def make(cls, directory: Path) -> "Credentials":
        """Write everything into a directory. The administrator's group is `system:masters`."""
        authority = trustme.CA()
        server = authority.issue_cert("127.0.0.1", "localhost")
        administrator = secrets.token_hex(16)
        made = cls(
            authority=directory / "ca.crt",
            certificate=directory / "server.crt",
            key=directory / "server.key",
            tokens=directory / "tokens.csv",
            administrator=administrator,
        )
        authority.cert_pem.write_to_path(made.authority)
        server.private_key_pem.write_to_path(made.key)
        made.certificate.write_bytes(b"".join(blob.bytes() for blob in server.cert_chain_pems))
        made.tokens.write_text(f"{administrator},administrator,administrator,system:masters\n")
        return made


def kubeconfig(path: Path, url: str, authority: Path, token: str) -> Path:
    """Write a kubeconfig file that reaches `url` with a bearer token."""
    cluster = {"server": url, "certificate-authority": str(authority)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "controlplane", "cluster": cluster}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "controlplane", "context": {"cluster": "controlplane", "user": "user"}}],
        "current-context": "controlplane",
    }
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    return path
