"""TLS as callers meet it: versions, and certificates that change under load without one failed handshake."""

import asyncio
import ssl
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, load_pem_private_key

from tests.server.running import MATERIAL, Running, new_material, review, running, trust
from webhook.certs import Material, Tls
from webhook.errors import CertificateError

OTHER = new_material()
BAD_PAIR = replace(OTHER, key=MATERIAL.key)


def version(context: ssl.SSLContext, highest: ssl.TLSVersion) -> ssl.SSLContext:
    context.maximum_version = highest
    return context


async def negotiated(server: Running, context: ssl.SSLContext) -> str:
    connection = await server.connect(context)
    return str(connection.writer.get_extra_info("ssl_object").version())


async def test_tls_13_is_preferred_and_12_accepted() -> None:
    async with running() as server:
        assert await negotiated(server, trust()) == "TLSv1.3"
        assert await negotiated(server, version(trust(), ssl.TLSVersion.TLSv1_2)) == "TLSv1.2"


async def test_tls_11_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=MATERIAL.ca.decode())
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    async with running() as server:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await server.connect(context)


async def test_only_http_11_is_offered() -> None:
    context = trust()
    context.set_alpn_protocols(["h2", "http/1.1"])
    async with running() as server:
        connection = await server.connect(context)
        assert connection.writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"


async def test_a_new_certificate_is_served_at_the_next_handshake_and_old_connections_live_on() -> None:
    async with running() as server:
        old = await server.connect()
        server.tls.offer(OTHER)
        assert (await (await server.connect(trust(OTHER))).post(review())).status == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            await server.connect(trust(MATERIAL))
        assert (await old.post(review())).status == 200


async def test_a_client_that_names_no_server_gets_the_new_certificate_too() -> None:
    context = trust(OTHER)
    context.check_hostname = False
    async with running() as server:
        server.tls.offer(OTHER)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context, server_hostname="")
        assert writer.get_extra_info("ssl_object").version() == "TLSv1.3"
        writer.transport.abort()


@pytest.mark.parametrize(
    "material, words",
    [
        (BAD_PAIR, "the key belongs to another certificate"),
        (replace(OTHER, certificate=b"garbage"), "not a PEM certificate"),
        (replace(OTHER, key=b""), "cannot be served together"),
    ],
    ids=["another's key", "no certificate", "no key"],
)
async def test_bad_material_never_touches_what_is_served(material: Material, words: str) -> None:
    async with running() as server:
        served = server.tls.served
        with pytest.raises(CertificateError, match=words):
            server.tls.offer(material)
        assert server.tls.served == served
        assert (await server.post(review())).status == 200


async def test_certificates_change_under_load_without_a_failed_handshake() -> None:
    both, done, served = trust(MATERIAL, OTHER), asyncio.Event(), set()

    async def call(server: Running) -> int:
        calls = 0
        while not done.is_set():
            connection = await server.connect(both)
            served.add(connection.writer.get_extra_info("ssl_object").getpeercert()["serialNumber"])
            assert (await connection.post(review())).status == 200
            connection.close()
            server.open.remove(connection)
            calls += 1
        return calls

    async with running() as server:
        callers = [asyncio.create_task(call(server)) for _ in range(8)]
        for index in range(100):
            server.tls.offer(OTHER if index % 2 else MATERIAL)
            with pytest.raises(CertificateError):
                server.tls.offer(BAD_PAIR)
            await asyncio.sleep(0.005)
        done.set()
        assert min(await asyncio.gather(*callers)) > 0
    assert len(served) == 2


def test_an_encrypted_key_is_refused_without_asking_anybody() -> None:
    key = load_pem_private_key(MATERIAL.key, password=None)
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    with pytest.raises(CertificateError, match="encrypted"):
        Tls(replace(MATERIAL, key=locked))
