"""`tagma compose`: a Compose file for a federation of any size."""

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
  tagma compose --nodes 20 --byzantine 5 --attack alie task.dim=50 rounds=10 seed=3"""
_SMALL = ["task.clusters=2", "task.dim=20", "task.samples=200", "task.noise=1.0", "rounds=5"]
"""What a round costs is containers, not arithmetic: a small task shows as much as a large one."""
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
        "--byzantine", type=int, default=2, metavar="B", help="how many are Byzantine (default: 2)"
    )
    parser.add_argument(
        "--attack", default="sign_flip", help="what Byzantine clients do (default: sign_flip)"
    )
    parser.add_argument("--context", default=".", help="where Tagma's own folder is, to build from")
    given = parser.read(arguments)
    print(
        compose_file(
            nodes=given.nodes,
            byzantine=given.byzantine,
            attack=given.attack,
            overrides=given.overrides,
            context=given.context,
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
    small = [text for text in _SMALL if text.partition("=")[0] not in chosen]
    where = [text for text in _WHERE if text.partition("=")[0] not in chosen]
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
    ).get_template("compose.yml")
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
        overrides=[json.dumps(text).replace("$", "$$") for text in [*where, *ours]],
        context=json.dumps(context),
        command=" ".join(command.split()),
    )
