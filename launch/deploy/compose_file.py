"""`tagma compose`: a Compose file, or Kubernetes manifests, for a federation of any size."""

import json
import shlex

from jinja2 import Environment, PackageLoader, StrictUndefined

from tagma.attacks.adversary import adversary_of
from tagma.errors import SettingError, TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.run import check
from tagma.override import key_of
from tagma.settings import compose

RESULTS = "/results/run"
_HELP = """A Compose file for a federation of any size, on standard output.

Any setting of `tagma run` may follow that the options do not decide.

  tagma compose > docker-compose.yml
  tagma compose --nodes 20 --byzantine 5 --attack alie task.dim=50 rounds=10 seed=3
  tagma compose --demo --nodes 8       slow rounds, nodes that can be turned, one that is late
  tagma compose --kubernetes > tagma.yml && kubectl apply -f tagma.yml"""
_SMALL = ["task.clusters=2", "task.dim=20", "task.samples=200", "task.noise=1.0", "rounds=5"]
"""What a round costs is containers, not arithmetic: a small task shows as much as a large one."""
_DEMO = [
    "strategy=three_stage", "strategy.quarantine=true", "strategy.reply_check=true", "rounds=30",
    "pause=3", "start_timeout=20", "round_timeout=30", "seed=3",
]  # fmt: skip
"""Rounds slow enough to be watched, and a server that looks at what clients claimed; nobody is
waited for long."""
ATTACK_FILE, LATE = "/tmp/attack", "late"
"""In the demo: the file in a node's container by which it is turned, and the profile of the node
that is started later."""
PAGE_PORT = 8700
_ROLES = {False: " --honest", True: " --byzantine"}
_DECIDED = {
    "task.clients": "--nodes",
    "attack": "--attack",
    "attack.fraction": "--byzantine",
    "attack.clients": "--byzantine",
    "engine": "the file itself",
    "hydra.run.dir": "the file itself",
    "output": "the file itself",
    "resume": "`tagma resume`",
}
"""Settings that options decide."""
_WHERE = [
    "engine=deployment",
    "engine.address=superlink:8000",
    "engine.root_certificates=/keys/ca.crt",
    f"hydra.run.dir={RESULTS}",
    "round_timeout=300",
]


def main(arguments: list[str]) -> None:
    """Print the file."""
    parser = CommandLine("compose", _HELP, overrides=True)
    parser.add_argument("--nodes", type=int, default=6, metavar="N", help="how many (default: 6)")
    parser.add_argument(
        "--byzantine",
        type=int,
        metavar="B",
        help="how many are Byzantine (default: 2; of a demo 0)",
    )
    parser.add_argument(
        "--demo", action="store_true",
        help="slow rounds, nodes that a file in them turns Byzantine, the last one started later",
    )  # fmt: skip
    parser.add_argument(
        "--attack", default="sign_flip", help="what Byzantine clients do (default: sign_flip)"
    )
    parser.add_argument("--kubernetes", action="store_true", help="manifests instead")
    parser.add_argument("--image", default="tagma", help="of the manifests (default: tagma)")
    parser.add_argument("--context", default=".", help="where Tagma's own folder is, to build from")
    given = parser.read(arguments)
    print(
        compose_file(
            nodes=given.nodes,
            byzantine=(0 if given.demo else 2) if given.byzantine is None else given.byzantine,
            demo=given.demo,
            attack=given.attack,
            overrides=given.overrides,
            context=given.context,
            image=given.image,
            kubernetes=given.kubernetes,
            command=shlex.join(["tagma", "compose", *arguments]),
        )
    )


def compose_file(
    *,
    nodes: int,
    byzantine: int,
    attack: str,
    overrides: list[str],
    context: str = ".",
    demo: bool = False,
    kubernetes: bool = False,
    image: str = "tagma",
    command: str = "tagma compose",
) -> str:
    """The text of the file; mistakes in the settings are found here, not in a container."""
    if nodes < 1:
        raise SettingError("--nodes", nodes, "must be at least 1")
    if not 0 <= byzantine < nodes / 2:
        raise SettingError("--byzantine", byzantine, f"must be fewer than half of {nodes} nodes")
    if byzantine and attack == "none":
        raise SettingError("--attack", attack, f"is no attack for --byzantine {byzantine}")
    chosen = {key_of(text): text for text in overrides}
    for key, text in chosen.items():
        decided = _DECIDED.get("engine" if key.startswith("engine.") else key)
        if decided is not None:
            raise TagmaError(f"{text}: is decided by {decided}")
    if demo and nodes < 2:
        raise SettingError("--nodes", nodes, "must be at least 2 for a demo: one is late")
    small = [*(_DEMO if demo else []), *(_SMALL if "task" not in chosen else [])]
    small = list({key_of(text): text for text in reversed(small)}.values())[::-1]
    small = [text for text in small if text.partition("=")[0] not in chosen]
    given = {*chosen, *(key_of(text) for text in small)}
    where = [text for text in _WHERE if text.partition("=")[0] not in given]
    # The server needs the number of Byzantine clients to score the run, the nodes the attack.
    attacking = [f"attack={attack}"]
    if byzantine:
        attacking.append(f"attack.fraction={byzantine / nodes!r}")
    elif attack != "none":
        attacking = ["attack=none"]
    ours = [f"task.clients={nodes}", *small, *attacking, *overrides]
    settings = compose([*ours, "engine=inprocess"])
    check(settings)
    adversary = adversary_of(settings)
    byzantine_clients = adversary.byzantine
    template = Environment(
        loader=PackageLoader("tagma.launch.deploy"),
        undefined=StrictUndefined,
        keep_trailing_newline=False,
    ).get_template("kubernetes.yml" if kubernetes else "compose.yml")
    return template.render(
        nodes=[
            {
                "number": number,
                "role": "" if adversary.colludes else _ROLES[bool(byzantine_clients[number])],
            }
            for number in range(nodes)
        ],
        byzantine=int(byzantine_clients.sum()),
        colludes=adversary.colludes,
        attack_file=ATTACK_FILE if demo else None,
        late=(nodes - 1, LATE) if demo else None,
        results=RESULTS,
        page_port=PAGE_PORT,
        # Compose replaces $NAME in texts, Kubernetes $(NAME).
        overrides=[
            json.dumps(text).replace("$(", "$$(")
            if kubernetes
            else json.dumps(text).replace("$", "$$")
            for text in [*where, *ours]
        ],
        image=json.dumps(image),
        namespace="tagma",
        context=json.dumps(context),
        command=" ".join(command.split()),
    )
