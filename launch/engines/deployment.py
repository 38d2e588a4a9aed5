"""The `deployment` engine: real nodes, on this computer or anywhere.

With `local_nodes` it starts a whole deployment on the loopback interface and ends it again. With
`address` it hands the run to a SuperLink that is there, by Flower's own command: the settings
travel with the app, the code must be installed on the server and on the nodes.
"""

from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from tagma.errors import EngineError, SettingError
from tagma.launch.engines.flower_run import on_events, placed, run_app
from tagma.launch.engines.loopback import loopback
from tagma.launch.engines.process_guard import guarded
from tagma.launch.engines.superlink import connect
from tagma.run_log import opened_log
from tagma.server.results.events import Observer
from tagma.server.results.run_folder import LOG, METRICS
from tagma.settings import Settings


class Deployment:
    """A SuperLink with SuperNodes."""

    def __init__(
        self,
        *,
        clients: int,
        local_nodes: Annotated[int, Ge(1)] | None,
        data_path: str | None = None,
        address: str | None,
        root_certificates: str | None,
        results: str | None,
    ) -> None:
        if (local_nodes is None) == (address is None):
            raise SettingError(
                "engine", "deployment", "give engine.local_nodes=N or engine.address=HOST:PORT"
            )
        if local_nodes is not None and local_nodes != clients:
            raise SettingError("engine.local_nodes", local_nodes, f"must be task.clients={clients}")
        if data_path is not None and local_nodes is None:
            raise SettingError(
                "engine.data_path", data_path, "is for local nodes; others: tagma node --data-path"
            )
        if address is not None:
            if root_certificates is None:
                raise SettingError("engine.root_certificates", "null", "name the CA's certificate")
            if not Path(root_certificates).is_file():
                raise SettingError("engine.root_certificates", root_certificates, "is not a file")
        self.local_nodes = local_nodes
        self.data_path = data_path
        self.address = address
        self.root_certificates = root_certificates
        self.results = results

    def __call__(self, settings: Settings, folder: Path, observer: Observer) -> None:
        """Run the federation; its results must be in the folder afterwards."""
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / LOG
        overrides = placed(settings, self.results or folder)
        with guarded() as shelter, opened_log(log) as output:
            try:
                if self.local_nodes is not None:
                    with loopback(shelter, self.local_nodes, output, self.data_path) as superlink:
                        run_app(superlink, overrides, on_events(observer), output)
                else:
                    assert self.address is not None
                    assert self.root_certificates is not None
                    trust = Path(self.root_certificates)
                    superlink = connect(shelter, self.address, root_certificates=trust)
                    run_app(superlink, overrides, on_events(observer), output, shared=True)
            except EngineError as error:
                raise EngineError(f"{error} (log: {log})") from None
        if not (folder / METRICS).exists():
            raise EngineError(
                f"the run is complete, but its results are not in {folder}: they are in "
                f"{self.results or folder.resolve()} on the server's computer"
            )
