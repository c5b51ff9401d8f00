"""Re-checking a certificate with code that shares nothing with the methods that made it."""

from cellbounds.certificates.verifying.verify import Verification, verify_certificate

__all__ = ["Verification", "verify_certificate"]
