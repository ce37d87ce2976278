"""Certificates: mint, inspect, decide renewal, rotate, and hold what handshakes get.

This room knows keys, certificates and the order in which they may be replaced, and is the only importer of
cryptography. It must not know Kubernetes: a Secret and a webhook configuration reach it as ``MaterialStore`` and
``BundlePublisher``. Planning (``plan_renewal``) is pure; ``Rotator`` carries plans out.
"""

from webhook.certs.clients import ClientAuthority
from webhook.certs.files import FileStore, load_material, write_material
from webhook.certs.inspection import CertificateFacts, Held, check_material, facts_of, inspect_material, why_untrusted
from webhook.certs.material import Material
from webhook.certs.minting import Pair, mint_authority, mint_client, mint_leaf
from webhook.certs.places import BundlePublisher, CertificateServer, LiveBundle, MaterialStore
from webhook.certs.profile import Profile, decode_profile, load_profile
from webhook.certs.renewal import (
    Action,
    DropAuthority,
    MintAuthority,
    MintLeaf,
    PublishBundle,
    ServeLeaf,
    Sight,
    plan_renewal,
)
from webhook.certs.rotation import Rotator
from webhook.certs.tls import Tls

__all__ = [
    "Action",
    "BundlePublisher",
    "CertificateFacts",
    "CertificateServer",
    "ClientAuthority",
    "DropAuthority",
    "FileStore",
    "Held",
    "LiveBundle",
    "Material",
    "MaterialStore",
    "MintAuthority",
    "MintLeaf",
    "Pair",
    "Profile",
    "PublishBundle",
    "Rotator",
    "ServeLeaf",
    "Sight",
    "Tls",
    "check_material",
    "decode_profile",
    "facts_of",
    "inspect_material",
    "load_material",
    "load_profile",
    "mint_authority",
    "mint_client",
    "mint_leaf",
    "plan_renewal",
    "why_untrusted",
    "write_material",
]
