"""The Kubernetes manifests: valid by Kubernetes' own schemas, and as closed as the Compose file."""

from collections.abc import Mapping
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tagma.launch.deploy.compose_file import compose_file

VERSIONS = ("1.29", "1.33", "1.37")


def objects(**keywords: Any) -> list[dict[str, Any]]:
    given = {"nodes": 6, "byzantine": 2, "attack": "sign_flip", "overrides": []} | keywords
    return list(yaml.safe_load_all(compose_file(**given, kubernetes=True)))


def named(kind: str, found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in found if one["kind"] == kind}


def pods(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        one["metadata"]["name"]: one["spec"]["template"]
        for one in found
        if "template" in one.get("spec", {})
    }


@pytest.mark.parametrize("demo", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_valid_by_the_schemas_of_kubernetes(version: str, demo: bool) -> None:
    for one in objects(demo=demo):
        kubernetes_validate.validate(one, version, strict=True)


def test_the_schemas_would_find_a_mistake() -> None:
    (policy, *_) = named("NetworkPolicy", objects()).values()
    policy["spec"]["policyType"] = policy["spec"].pop("policyTypes")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(policy, VERSIONS[-1], strict=True)


def test_no_pod_may_do_more_than_it_needs() -> None:
    found = pods(objects())
    assert len(found) == 6 + 6
    for name, pod in found.items():
        spec = pod["spec"]
        (container,) = spec["containers"]
        assert spec["securityContext"]["runAsNonRoot"], name
        assert spec["automountServiceAccountToken"] is False
        own = container["securityContext"]
        assert own["readOnlyRootFilesystem"]
        assert not own["allowPrivilegeEscalation"]
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"].keys() >= {"cpu", "memory"}


def test_each_secret_is_mounted_by_its_owner_and_the_page_has_none() -> None:
    owners: dict[str, list[str]] = {}
    for name, pod in pods(objects()).items():
        for volume in pod["spec"]["volumes"]:
            if "secret" in volume:
                owners.setdefault(volume["secret"]["secretName"], []).append(name)
    assert owners.pop("control-keys") == ["register", "run"]
    assert all(mounted == [secret.removesuffix("-keys")] for secret, mounted in owners.items())
    assert len(owners) == 9


def allowed(found: list[dict[str, Any]], role: str, other: str) -> bool:
    """Whether a pod of one role may open a connection to one of another."""

    def chosen(selector: Mapping[str, Any], one: str) -> bool:
        labels = selector.get("matchLabels", {})
        rules = selector.get("matchExpressions", [])
        inside = {
            "In": lambda rule: one in rule["values"],
            "NotIn": lambda rule: one not in rule["values"],
        }
        return labels.get("tagma/role", one) == one and all(
            inside[rule["operator"]](rule) for rule in rules
        )

    def passes(way: str, peer: str, mine: str, theirs: str) -> bool:
        return any(
            chosen(end["podSelector"], theirs)
            for policy in named("NetworkPolicy", found).values()
            if chosen(policy["spec"]["podSelector"], mine)
            for rule in policy["spec"].get(way, [])
            for end in rule[peer]
            if "podSelector" in end
        )

    return passes("egress", "to", role, other) and passes("ingress", "from", other, role)


def test_nodes_reach_the_proxy_and_nothing_else_and_nobody_reaches_a_node() -> None:
    found = objects()
    roles = {"node", "proxy", "superlink", "executor", "register", "run", "watch"}
    reached = {(one, other) for one in roles for other in roles if allowed(found, one, other)}
    assert reached == {("node", "proxy")} | {
        (one, "superlink") for one in ("proxy", "executor", "register", "run")
    }
    nobody = named("NetworkPolicy", found)["nobody"]["spec"]
    assert nobody == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_settings_survive_the_way_through_the_file() -> None:
    odd = "hydra.job.name='a \"b\" $(c): #d'"
    (container,) = pods(objects(overrides=[odd]))["run"]["spec"]["containers"]
    assert container["args"][-1].replace("$$(", "$(") == odd


def test_the_late_node_of_a_demo_is_scaled_to_nothing() -> None:
    found = named("Deployment", objects(demo=True, byzantine=0))
    assert [found[f"node-{n}"]["spec"]["replicas"] for n in range(6)] == [1] * 5 + [0]
