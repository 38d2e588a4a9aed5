"""Exit 0 if somebody answers: health.py URL [CA certificate]. Any answer of a server counts."""

import ssl
import sys
from urllib.error import HTTPError
from urllib.request import ProxyHandler, HTTPSHandler, build_opener

url, *authority = sys.argv[1:]
trust = ssl.create_default_context(cafile=authority[0]) if authority else None
try:
    build_opener(ProxyHandler({}), HTTPSHandler(context=trust)).open(url, timeout=3)
except HTTPError:
    pass
