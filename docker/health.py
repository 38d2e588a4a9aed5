"""Exit 0 if somebody answers: health.py URL [CA certificate]. Any answer of a server counts."""

import ssl
import sys
from contextlib import suppress
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

url, *authority = sys.argv[1:]
trust = ssl.create_default_context(cafile=authority[0]) if authority else None
with suppress(HTTPError):
    build_opener(ProxyHandler({}), HTTPSHandler(context=trust)).open(url, timeout=3)
