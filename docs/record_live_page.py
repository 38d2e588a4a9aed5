"""Makes docs/img/live.png: the live page in four moments of a real run.

Needs Chromium and selenium: `.venv/bin/python docs/record_live_page.py`.
"""

import sys
import time
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))

from tagma.launch.engines import inprocess
from tagma.launch.watch.live_source import LiveSource
from tagma.launch.watch.page_server import served
from tagma.settings import compose
from tests.chromium import resize, started

SETTINGS = [
    "task.clients=14", "task.clusters=2", "task.dim=20", "task.samples=200", "task.noise=1.0",
    "strategy.quarantine=true", "strategy.reply_check=true", "rounds=14", "pause=1.5",
    "oracle=false", "attack=sign_flip", "attack.clients=[5]", "attack.start=4", "attack.stop=8",
    "absence.clients=[3]", "absence.rounds=[6,10]",
]  # fmt: skip
MOMENTS = (3, 6, 8, 14)
"""After so many rounds: calm, struck and excluded, another one away, all back."""
WIDTH, HEIGHT, SHOWN = 1180, 900, 700
PLACE = "outputs/live"
OUT = Path(__file__).parent / "img/live.png"


def main() -> None:
    """Run, look, and put the pictures side by side."""
    shots = []
    with TemporaryDirectory() as scratch, served(LiveSource(Path(scratch) / PLACE)) as server:
        opened = started()
        browser = next(opened)
        resize(browser, WIDTH)
        browser.get(server.address)
        settings = compose(SETTINGS)
        where = Path(scratch) / PLACE
        run = Thread(target=inprocess.run, args=(settings, where, lambda event: None))
        run.start()
        for moment in MOMENTS:
            while f"round {moment + 1} of" not in browser.find_element("id", "head").text:
                time.sleep(0.1)
            shots.append(Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB"))
        opened.close()
        run.join()
    small = [shot.resize((SHOWN, SHOWN * HEIGHT // WIDTH), Image.LANCZOS) for shot in shots]
    high = small[0].height
    strip = Image.new("RGB", (2 * SHOWN + 10, 2 * high + 10), "#e4dfd8")
    for number, shot in enumerate(small):
        strip.paste(shot, ((number % 2) * (SHOWN + 10), (number // 2) * (high + 10)))
    strip.quantize(255, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        OUT, optimize=True
    )
    print(OUT, OUT.stat().st_size)


if __name__ == "__main__":
    main()
