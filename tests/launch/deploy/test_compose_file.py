"""The docker-compose file: who is on which network, and who is Byzantine."""

import subprocess
from pathlib import Path

import pytest
import yaml

from tagma.attacks.adversary import adversary_of
from tagma.errors import SettingError, TagmaError
from tagma.launch.deploy.compose_file import compose_file
from tagma.settings import compose
from tests.command import tagma

ROOT = Path(__file__).parents[3]


def services(**keywords):
    given = {"nodes": 6, "byzantine": 2, "attack": "sign_flip", "overrides": []} | keywords
    return yaml.safe_load(compose_file(**given))["services"]


def test_the_file_in_the_repository_is_what_the_command_prints():
    text = compose_file(nodes=6, byzantine=2, attack="sign_flip", overrides=[])
    assert (ROOT / "docker-compose.yml").read_text() == text + "\n"


@pytest.mark.parametrize(("nodes", "byzantine", "seed"), [(6, 2, 0), (20, 5, 0), (20, 5, 3)])
def test_the_nodes_that_lie_are_those_of_a_simulation(nodes, byzantine, seed):
    found = services(nodes=nodes, byzantine=byzantine, overrides=[f"seed={seed}"])
    lying = [n for n in range(nodes) if "--byzantine" in found[f"node-{n}"]["command"]]
    overrides = [text for text in found["run"]["command"][2:] if not text.startswith("hydra")]
    settings = compose([text for text in overrides if not text.startswith("engine")])
    assert lying == adversary_of(settings).byzantine.nonzero()[0].tolist()
    assert len(lying) == byzantine


def test_no_node_is_started_as_a_byzantine_client_for_an_attack_that_the_server_forges():
    text = compose_file(nodes=6, byzantine=2, attack="alie", overrides=[])
    assert "--byzantine" not in text.partition("services:")[2]
    assert "the server forges the replies of the Byzantine nodes" in text


def test_only_the_proxy_is_on_both_networks():
    networks = {name: service.get("networks") for name, service in services().items()}
    assert networks.pop("watch") == ["page"]
    assert networks.pop("proxy") == ["control", "fleet"]
    for name, where in networks.items():
        assert where == (None if name == "keys" else ["fleet" if "node" in name else "control"])


def test_every_node_has_a_volume_of_its_own_and_no_other():
    for name, service in services().items():
        if name.startswith("node-"):
            assert service["volumes"] == [f"{name}-keys:/keys:ro"]


def test_no_container_may_do_more_than_it_needs():
    for name, service in services().items():
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"]
        assert ("ports" in service) == (name == "watch")
        assert ("user" in service) == (name == "keys")


def test_settings_survive_the_way_through_the_file():
    odd = "hydra.job.name='a \"b\" $c: #d'"
    command = services(overrides=[odd])["run"]["command"]
    assert command[-1].replace("$$", "$") == odd


@pytest.mark.parametrize("numbers", [{"nodes": 0}, {"byzantine": 3}, {"byzantine": -1}])
def test_half_or_more_byzantine_clients_are_refused(numbers):
    with pytest.raises(SettingError, match="must be"):
        services(**numbers)


@pytest.mark.parametrize(
    "text",
    ["task.clients=8", "engine=ray", "engine.address=x:1", "attack=alie", "attack.fraction=0.4",
     "attack.clients=[1]", "hydra.run.dir=/results/mine", "output=x", "+resume=true"],
)  # fmt: skip
def test_what_an_option_decides_cannot_be_set_otherwise(text):
    with pytest.raises(TagmaError, match="is decided by"):
        services(overrides=[text])


def test_byzantine_clients_need_an_attack():
    with pytest.raises(SettingError, match="--attack=none: is no attack for --byzantine 2"):
        services(attack="none")


def test_nodes_that_are_not_started_as_byzantine_clients_never_lie():
    found = services()
    for number in range(6):
        command = found[f"node-{number}"]["command"]
        assert ("--honest" in command) != ("--byzantine" in command)


def test_a_run_starts_whatever_is_not_running():
    found = services()
    assert set(found["run"]["depends_on"]) == {"executor", *(f"node-{n}" for n in range(6))}


def test_a_context_with_odd_characters_survives():
    text = compose_file(nodes=1, byzantine=0, attack="none", overrides=["task.clusters=1"],
                        context="../x y #z", command="tagma compose\n--nodes 1")  # fmt: skip
    assert yaml.safe_load(text)["services"]["keys"]["build"]["context"] == "../x y #z"


def test_a_mistake_in_the_settings_is_found_before_there_are_containers():
    with pytest.raises(TagmaError, match=r"aggregation\.beta=0\.9"):
        services(overrides=["aggregation.beta=0.9"])


def test_the_command_prints_the_file(tmp_path):
    done = tagma("compose", "--nodes", "20", "--byzantine", "5", "seed=3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(yaml.safe_load(done.stdout)["services"]) == 27


def test_each_checkout_has_a_project_of_its_own_and_keeps_it(tmp_path):
    def project(checkout):
        checkout.mkdir(exist_ok=True)
        script = f". {ROOT / 'docker/project.sh'}"
        subprocess.run(["bash", "-euc", script], cwd=checkout, check=True)
        return (checkout / ".env").read_text()

    (tmp_path / "one").mkdir()
    (tmp_path / "one/.env").write_text("MINE=1")
    first, second = project(tmp_path / "one"), project(tmp_path / "two")
    assert first.startswith("MINE=1\nCOMPOSE_PROJECT_NAME=tagma-")
    assert first.removeprefix("MINE=1\n") != second
    assert project(tmp_path / "one") == first


def test_every_container_has_limits():
    for service in services().values():
        assert service["mem_limit"]
        assert service["cpus"] == 1.0
        assert all("size=" in mount for mount in service["tmpfs"])
        assert service["logging"]["options"] == {"max-size": "10m", "max-file": "3"}


def test_the_page_is_published_on_loopback_and_reads_results_without_a_key():
    text = compose_file(nodes=6, byzantine=2, attack="sign_flip", overrides=[])
    watch = yaml.safe_load(text)["services"]["watch"]
    assert watch["ports"] == ["127.0.0.1:${TAGMA_PAGE_PORT:-8700}:8700"]
    assert watch["volumes"] == ["results:/results:ro"]
    networks = yaml.safe_load(text)["networks"]
    (outside,) = networks["page"]["driver_opts"].items()
    assert outside == ("com.docker.network.bridge.enable_ip_masquerade", "false")
    assert networks["control"] == networks["fleet"] == {"internal": True}


def test_only_the_nodes_of_a_demo_can_be_turned_by_a_file():
    for demo in (False, True):
        found = services(byzantine=0, demo=demo)
        nodes = [found[f"node-{n}"] for n in range(6)]
        assert all(("--attack-file" in node["command"]) == demo for node in nodes)
        assert ("pause=3" in found["run"]["command"]) == demo


def test_the_last_node_of_a_demo_is_started_later_and_nothing_waits_for_it():
    found = services(byzantine=0, demo=True)
    assert [n for n in range(6) if "profiles" in found[f"node-{n}"]] == [5]
    assert "node-5" not in found["run"]["depends_on"]


def test_a_demo_may_be_of_any_task_and_of_other_paces():
    given = ["task=rotated_digits", "task.clusters=2", "pause=1"]
    command = services(byzantine=0, demo=True, overrides=given)["run"]["command"]
    assert "pause=3" not in command
    assert not any(text.startswith("task.dim") for text in command)
