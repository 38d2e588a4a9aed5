"""The table of `tagma bench fresh_memory`; what memory costs is not for tests to say."""

from tagma.bench.speed import fresh_memory


def test_a_pause_that_costs_is_seen(monkeypatch, capsys):
    now = 0.0
    latest_pause = 0

    def clock():
        nonlocal now
        now += 0.05 + latest_pause
        return now

    def pause(seconds):
        nonlocal latest_pause
        latest_pause = seconds

    monkeypatch.setattr(fresh_memory, "thread_time", clock)
    monkeypatch.setattr(fresh_memory, "sleep", pause)
    monkeypatch.setattr(fresh_memory, "_ENTRIES", 10)
    fresh_memory.main([])
    rows = [line.split("│")[1:4] for line in capsys.readouterr().out.splitlines() if " s │" in line]
    assert [[cell.strip() for cell in row] for row in (rows[0], rows[-1])] == [
        ["0 s", "50", "1.0"],
        ["20 s", "20050", "401.0"],
    ]
