"""The `tagma` command and its subcommands.

Little is imported before `main`, which first says what Ctrl-C does.
"""

import errno
import os
import sys
from collections.abc import Callable
from importlib import import_module

from tagma import __version__
from tagma.errors import TagmaError
from tagma.launch import interruption

_HELP = f"""Tagma {__version__}: federated learning in unknown clusters, with Byzantine clients.

  tagma run [overrides]       one federation, from local models to a report
  tagma resume FOLDER         go on with a run that broke off
  tagma watch FOLDER          a page that shows a run while it goes on
  tagma compare [overrides]   the same federation three ways: not robust, the paper's, ours
  tagma assign FOLDER DATA    the cluster and model of a client that was not there
  tagma predict FOLDER DATA   what a cluster's model says of new examples
  tagma export FOLDER         a cluster's model in a file for other programs
  tagma bench NAME            grids of attacks and defences, and other benchmarks
  tagma reproduce NAME        the paper's experiments, with figures and a table of claims
  tagma list [group]          what can be chosen: tasks, clusterings, aggregations, attacks, ...
  tagma report FOLDER         make report.html of a finished run or a bench again, and its figures
  tagma doctor                what will not work on this computer, why, and what to do

  tagma compose               a Compose file for a federation of containers
  tagma keys, register, node, proxy   the parts of a deployment, one by one

Each has --help. Try: tagma run attack=sign_flip attack.fraction=0.2
Tab completion: eval "$(tagma run -sc install=bash)"; fish: tagma run -sc install=fish | source
Mistakes are reported in one line; --debug (or HYDRA_FULL_ERROR=1) shows where they arose."""

_COMMANDS = {
    "run": "tagma.launch.run",
    "resume": "tagma.launch.resume",
    "watch": "tagma.launch.watch.watch_command",
    "compare": "tagma.launch.compare",
    "assign": "tagma.launch.assign",
    "predict": "tagma.launch.predict",
    "export": "tagma.launch.export",
    "bench": "tagma.bench.bench_command",
    "reproduce": "tagma.bench.reproduce.reproduce_command",
    "list": "tagma.launch.listing",
    "report": "tagma.launch.report_command",
    "doctor": "tagma.launch.doctor.doctor_command",
    "keys": "tagma.launch.deploy.keys",
    "register": "tagma.launch.deploy.registration",
    "node": "tagma.launch.deploy.node",
    "proxy": "tagma.launch.deploy.proxy",
    "compose": "tagma.launch.deploy.compose_file",
}


_ON_FOLDERS = ("resume", "watch", "assign", "predict", "export", "report")
"""These import nothing from the working folder, which may be somebody else's, without --trust."""
_COMPLETION = ("-sc", "--shell-completion")


def main() -> None:
    """Entry point: exits with 0 only if what was asked for was done."""
    interruption.end_at_once()
    from tagma.launch.console import fail, say

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
    elif name in _COMMANDS or name in _COMPLETION:
        _run(name, arguments[1:], debug)
    else:
        from difflib import get_close_matches

        close = get_close_matches(name, _COMMANDS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(_COMMANDS)}"
        fail(f"{name}: there is no such command; {hint}")


def _run(name: str, arguments: list[str], debug: bool) -> None:
    from tagma.launch.console import fail, show_log

    show_log("tagma.tasks")
    try:
        if name not in _ON_FOLDERS:
            # Users' own plugins are modules in the folder they work in; ours come first.
            sys.path.append(_working_folder())
        _call(name, arguments)
    except TagmaError as error:
        if debug:
            raise
        fail(str(error))
    except KeyboardInterrupt:
        interruption.end_at_once()
        fail(*interruption.words_and_code())
    except BrokenPipeError:
        os._exit(1)
    except OSError as error:
        if debug:
            raise
        fail(_explained(error), code=1)
    except MemoryError as error:
        if debug:
            raise
        fail(f"there is not enough memory: {error or 'something is too large'}", code=1)
    except Exception as error:
        if interruption.came():
            interruption.end_at_once()
            fail(*interruption.words_and_code())
        if debug:
            raise
        fail(f"{type(error).__name__}: {error} (this is a defect; --debug shows where)", code=1)
    finally:
        interruption.end_at_once()


def _call(name: str, arguments: list[str]) -> None:
    if name in _COMPLETION or (name == "run" and any(text in _COMPLETION for text in arguments)):
        complete = import_module("tagma.launch.completion").complete
        interruption.end_orderly()
        complete([text for text in arguments if text not in _COMPLETION], tuple(_COMMANDS))
        return
    command: Callable[[list[str]], None] = import_module(_COMMANDS[name]).main
    interruption.end_orderly()
    command(arguments)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise TagmaError("the working folder has been removed; go to another one") from None


def _explained(error: OSError) -> str:
    """What the system would not do, and with which file."""
    where = f"{error.filename}: " if error.filename else ""
    if error.errno == errno.ENOSPC:
        return f"{where}the disk is full"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return f"{where}is a file where a folder is wanted; name another one"
    return f"{where}{error.strerror or error} (--debug shows where)"


if __name__ == "__main__":
    main()
