"""The certificate room: pure plans as tables, everything else against strangers (OpenSSL, cryptography)."""
