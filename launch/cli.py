"""The `tagma` command and its subcommands."""

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module

from tagma import __version__
from tagma.errors import TagmaError
from tagma.launch.console import fail, say, show_log

_HELP = f"""Tagma {__version__}: federated learning in unknown clusters, while some clients lie.

  tagma run [overrides]       one federation, from local models to a report
  tagma resume FOLDER         go on with a run that broke off
  tagma compare [overrides]   the same federation three ways: not robust, the paper's, ours
  tagma assign FOLDER DATA    the cluster and model of a client that was not there
  tagma bench NAME            grids of attacks and defences, and other benchmarks
  tagma reproduce NAME        the paper's experiments, with figures and a table of claims
  tagma list [group]          what can be chosen: tasks, clusterings, aggregations, attacks, ...
  tagma report FOLDER         make report.html of a finished run or a bench again, and its figures

  tagma compose               a docker-compose file for a federation of containers
  tagma keys, register, node, proxy   the parts of a deployment, one by one

Each has --help. Try: tagma run attack=sign_flip attack.fraction=0.2
Mistakes are reported in one line; --debug (or HYDRA_FULL_ERROR=1) shows where they arose."""

_COMMANDS = {
    "run": "tagma.launch.run",
    "resume": "tagma.launch.resume",
    "compare": "tagma.launch.compare",
    "assign": "tagma.launch.assign",
    "bench": "tagma.bench.bench_command",
    "reproduce": "tagma.bench.reproduce.reproduce_command",
    "list": "tagma.launch.listing",
    "report": "tagma.launch.report_command",
    "keys": "tagma.launch.deploy.keys",
    "register": "tagma.launch.deploy.registration",
    "node": "tagma.launch.deploy.node",
    "proxy": "tagma.launch.deploy.proxy",
    "compose": "tagma.launch.deploy.compose_file",
}


def main() -> None:
    """Entry point: exits with 0 only if what was asked for was done."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments or os.environ.get("HYDRA_FULL_ERROR") == "1"
    if debug:
        os.environ["HYDRA_FULL_ERROR"] = "1"
    arguments = [argument for argument in arguments if argument != "--debug"]
    name = arguments[0] if arguments else "--help"
    if name in ("--help", "-h", "help"):
        say(_HELP)
    elif name == "--version":
        say(__version__)
    elif name not in _COMMANDS:
        fail(f"{name}: there is no such command; known: {', '.join(_COMMANDS)}")
    else:
        _run(name, arguments[1:], debug)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _run(name: str, arguments: list[str], debug: bool) -> None:
    # `docker stop` and the like interrupt, as Ctrl-C does: what was started must end, too.
    signal.signal(signal.SIGTERM, _interrupt)
    # Users' own plugins are modules in the folder they work in; ours come first.
    sys.path.append(os.getcwd())
    show_log("tagma.tasks")
    try:
        command: Callable[[list[str]], None] = import_module(_COMMANDS[name]).main
        command(arguments)
    except TagmaError as error:
        if debug:
            raise
        fail(str(error))
    except KeyboardInterrupt:
        fail("interrupted", code=130)
    except BrokenPipeError:
        os._exit(1)
    except Exception as error:
        if debug:
            raise
        fail(f"{type(error).__name__}: {error} (this is a defect; --debug shows where)", code=1)


if __name__ == "__main__":
    main()
