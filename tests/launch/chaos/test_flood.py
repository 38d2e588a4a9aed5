"""A flood of the proxy while a federation runs: the models are those of a run without it."""

import time

import pytest

from tests.launch.chaos.flood import Flood
from tests.launch.chaos.schedule import bits, models_of, models_without_faults
from tests.launch.chaos.test_loopback_chaos import NODES, TASK, Federation

pytestmark = [pytest.mark.full, pytest.mark.multiprocess]


def test_a_flood_of_slow_connections_changes_nothing(tmp_path):
    folder, overrides = tmp_path / "out", [*TASK, "rounds=8"]
    federation = Federation(folder, overrides, seed=0)
    files, memory, started = [], [], time.monotonic()
    with federation.running():
        (proxy,) = federation.found("tagma.launch.cli", "proxy")
        command = proxy.cmdline()
        with Flood(int(command[command.index("--port") + 1]), each=400) as flood:
            federation.start_run()
            while not federation.is_over():
                files.append(proxy.num_fds())
                memory.append(proxy.memory_info().rss / 2**20)
                time.sleep(0.2)
        away = federation.journal.missed()
    print(
        f"\n8 rounds in {time.monotonic() - started:.0f} s under 1,200 slow connections: "
        f"{flood.opened} opened, the proxy had {max(files)} open files and {max(memory):.0f} MB"
    )
    assert not any(away.values())
    expected = models_without_faults(overrides, away, tmp_path / "replayed")
    assert bits(models_of(folder)) == bits(expected)
    # Those of the attacker's address (64 + 8 for each node), as many upstream, and its own.
    assert max(files) < 3 * (64 + 8 * NODES)
    assert max(memory) < 250
