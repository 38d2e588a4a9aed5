"""Private parts of Flower's executor, the program that starts a process for every task.

`tagma.launch.deploy.executor` runs it with another executor in its factory, one that forks clients.
"""

from tagma.flower_private import private_parts

with private_parts():
    from flwr.supercore.cli import flower_superexec
    from flwr.supercore.constant import TaskType
    from flwr.supercore.superexec.executor import LaunchResult, factory
    from flwr.supercore.tls import validate_and_resolve_root_certificates
    from flwr.supernode.runtime.run_clientapp import run_clientapp

__all__ = [
    "LaunchResult", "TaskType", "factory", "flower_superexec", "run_clientapp",
    "validate_and_resolve_root_certificates",
]  # fmt: skip
