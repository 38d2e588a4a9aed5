"""Flower's private client of a SuperLink's control API.

`tagma register` uses it to register all keys by one connection; Flower's own command is one process
per key.
"""

from tagma.flower_private import private_parts

with private_parts():
    from flwr.proto.control_pb2 import RegisterNodeRequest
    from flwr.supercore.control import ControlHttpClient
    from flwr.supercore.error import ApiErrorCode, FlowerError
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes

__all__ = [
    "ApiErrorCode", "ControlHttpClient", "FlowerError", "RegisterNodeRequest",
    "RuntimeVersionHttpInterceptor", "public_key_to_bytes",
]  # fmt: skip
