"""`tagma export`: a cluster's model in a file for other programs."""

from pathlib import Path

from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.console import say
from tagma.launch.finished_run import Run

_HELP = """The model of a cluster in one file that needs no Tagma.

FOLDER is that of a finished `tagma run`. How it is written follows from the ending of FILE:

  .safetensors   the arrays by the module's own names, as its `load_state_dict` takes them
  .pt            TorchScript, for `torch.jit.load`; it is for torch modules (model=cnn, own ones)
  .pt2           a program of torch.export, for `torch.export.load`; likewise

The last two take inputs as they are in the data, and scale them as the training did.

  tagma export outputs/2026-11-16/12-00-00 --cluster 0 --out model.safetensors"""


def main(arguments: list[str]) -> None:
    """Write one model."""
    parser = CommandLine("export", _HELP)
    parser.add_run_folder("of the finished run")
    parser.add_argument("--cluster", type=at_least(0), metavar="K", help="whose model")
    parser.add_argument("--out", type=Path, metavar="FILE", required=True, help="the file to write")
    given = parser.read(arguments)
    run = Run(given.folder, trust=given.trust)
    say(f"model: {run.export(given.out, cluster=given.cluster)}")
