"""Exit 0 if a server answers: health.py URL [CA certificate]. A refusal is an answer, too."""

import ssl
import sys
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

url, *authority = sys.argv[1:]
trust = ssl.create_default_context(cafile=authority[0]) if authority else None
try:
    build_opener(ProxyHandler({}), HTTPSHandler(context=trust)).open(url, timeout=3)
except HTTPError as answer:
    sys.exit(answer.code >= 500)
