"""The manifests of every environment, held against Kubernetes' own schemas and against what the design asks."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate  # pyright: ignore[reportMissingTypeStubs]  it has none
import pytest
import yaml

from rewrite_batch.report.source import MEMORY
from rewrite_batch.settings import ENVIRONMENTS, load_settings
from tests.jobs.kustomize import KEYS, Object, build, containers, pod_spec

KUBERNETES = Path(__file__).parents[2] / "jobs" / "kubernetes"
SCHEMAS = ("1.31", "1.34")  # podFailurePolicy is settled since 1.31
BUILT = {name: build(KUBERNETES / "overlays" / name) for name in ENVIRONMENTS}
EACH = [(name, found) for name, objects in BUILT.items() for found in objects]
PODS = [(name, found) for name, found in EACH if pod_spec(found)]
CRON_JOBS = [(name, found) for name, found in EACH if found["kind"] == "CronJob"]
WORKERS = [(name, found) for name, found in CRON_JOBS if found["metadata"]["name"].endswith(("submit", "collect"))]
# By the table of queue defaults: jobs a run, run seconds, claim timeout, then the schedules of submit and collect.
TABLE = {
    "dev": (5_000, 120, 300, None, None),
    "stage": (50_000, 180, 900, "*/30 * * * *", "*/30 * * * *"),
    "prod": (200_000, 240, 3_600, "*/15 * * * *", "*/30 * * * *"),
}
MIB = 1024**2
WORK_BYTES = 400_000_000
LINE_BYTES = 6_700  # a rendered line of the sample requests, on average


def called(given: tuple[str, Object]) -> str:
    return f"{given[0]}-{given[1]['kind']}-{given[1]['metadata']['name']}"


def named(environment: str, kind: str, name: str) -> Object:
    [found] = [o for o in BUILT[environment] if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return found


def pod(found: Object) -> Object:
    spec = pod_spec(found)
    assert spec is not None
    return spec


def size(quantity: str) -> int:
    number, unit = quantity[:-2], quantity[-2:]
    return int(number) * {"Mi": MIB, "Gi": 1024 * MIB}[unit]


def volume(found: Object, name: str) -> Object:
    [each] = [v for v in pod(found)["volumes"] if v["name"] == name]
    return each


def settings_of(environment: str) -> dict[str, str]:
    return named(environment, "ConfigMap", "rewrite-batch-settings")["data"]


@pytest.mark.parametrize("given", EACH, ids=called)
def test_every_object_is_valid_by_kubernetes_own_schema(given: tuple[str, Object]) -> None:
    for version in SCHEMAS:
        kubernetes_validate.validate(given[1], version, strict=True)


def test_a_misspelt_field_is_refused_by_the_schema() -> None:
    found = build(KUBERNETES / "base")
    [wrong] = [each for each in found if each["metadata"]["name"] == "rewrite-batch-submit"]
    pod(wrong)["terminationGraceSeconds"] = 5
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, SCHEMAS[0], strict=True)


def sorted_lists(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        return {key: sorted_lists(each, key) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  YAML is what it is
    if isinstance(value, list):
        items: list[Any] = [sorted_lists(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  the same
        return sorted(items, key=lambda each: each[KEYS[field]]) if field in KEYS else items
    return value


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on the PATH")
@pytest.mark.parametrize("environment", BUILT)
def test_kubectl_builds_the_same(environment: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["kubectl", "kustomize", KUBERNETES / "overlays" / environment],
        capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": os.devnull},
    )  # fmt: skip
    theirs = {(o["kind"], o["metadata"]["name"]): sorted_lists(o) for o in yaml.safe_load_all(done.stdout)}
    ours = {(o["kind"], o["metadata"]["name"]): sorted_lists(o) for o in BUILT[environment]}
    assert theirs == ours


@pytest.mark.parametrize("environment", TABLE)
def test_an_overlay_has_the_values_of_the_table(environment: str) -> None:
    jobs, seconds, claim_timeout_s, *schedules = TABLE[environment]
    limits = load_settings(settings_of(environment)).run_limits
    assert (limits.jobs, limits.seconds, limits.claim_timeout_s) == (jobs, seconds, claim_timeout_s)
    assert load_settings({"REWRITE_BATCH_ENVIRONMENT": environment}).run_limits == limits
    for command, schedule in zip(("submit", "collect"), schedules, strict=True):
        spec = named(environment, "CronJob", f"rewrite-batch-{command}")["spec"]
        assert spec.get("suspend", False) == (schedule is None)
        assert schedule is None or spec["schedule"] == schedule


def test_the_commands_run_with_arguments_that_they_have() -> None:
    started = {found["metadata"]["name"]: pod(found)["containers"][0]["args"] for _, found in PODS}
    assert {name: args[0] for name, args in started.items()} == {
        f"rewrite-batch-{command}": command for command in ("migrate", "submit", "collect", "export", "report")
    }


@pytest.mark.parametrize("given", CRON_JOBS, ids=called)
def test_a_cron_job_waits_for_migrations_and_leaves_retries_to_its_schedule(given: tuple[str, Object]) -> None:
    spec = given[1]["spec"]
    job = spec["jobTemplate"]["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    assert (spec["timeZone"], spec["startingDeadlineSeconds"]) == ("Etc/UTC", 300)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 5)
    assert pod(given[1])["restartPolicy"] == "Never", "podFailurePolicy needs it"
    [disrupted, reported] = job["podFailurePolicy"]["rules"]
    assert (disrupted["action"], reported["action"]) == ("Ignore", "FailJob")
    assert reported["onExitCodes"] == {"operator": "In", "values": [2, 65, 70, 75]}
    [first] = pod(given[1])["initContainers"]
    assert first["args"] == ["migrate", "--check"]


@pytest.mark.parametrize("given", WORKERS, ids=called)
def test_a_deadline_is_beyond_any_run_and_before_the_next_but_one_tick(given: tuple[str, Object]) -> None:
    environment, found = given
    limits = load_settings(settings_of(environment)).run_limits
    deadline = found["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"]
    last_batch_s = 60 + 3 * 60  # its turn at the capacity lock, then a call that may be repeated, at its timeout
    assert deadline > 2 * limits.seconds + last_batch_s
    assert deadline < 1_800
    assert pod(found)["terminationGracePeriodSeconds"] >= 15, "a run ends within 10 seconds of SIGTERM"


@pytest.mark.parametrize("given", WORKERS, ids=called)
def test_the_spool_is_memory_with_room_for_a_run_and_the_limit_holds_both(given: tuple[str, Object]) -> None:
    environment, found = given
    spool = volume(found, "spool")["emptyDir"]
    assert spool["medium"] == "Memory"
    assert size(spool["sizeLimit"]) > load_settings(settings_of(environment)).run_limits.jobs * LINE_BYTES
    [container] = pod(found)["containers"]
    limit = size(container["resources"]["limits"]["memory"])
    assert limit >= WORK_BYTES + size(spool["sizeLimit"]) + size(volume(found, "tmp")["emptyDir"]["sizeLimit"])
    assert size(container["resources"]["requests"]["memory"]) >= WORK_BYTES
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    spool_dir = load_settings(settings_of(environment)).spool_dir
    assert str(spool_dir.parent) in mounted, "a directory of our own in the volume, which is open to its group"


def test_the_report_has_memory_for_duckdb_and_a_disk_for_what_it_spills() -> None:
    [(_, found), *_] = [given for given in PODS if "rewrite-batch-report" in called(given)]
    [container] = pod(found)["containers"]
    assert size(container["resources"]["limits"]["memory"]) >= size(MEMORY.replace("MB", "Mi")) + WORK_BYTES
    [scratch] = [entry["value"] for entry in container["env"] if entry["name"] == "TMPDIR"]
    [mounted] = [mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == scratch]
    assert volume(found, mounted)["emptyDir"] == {"sizeLimit": "4Gi"}, "a disk, not memory"


@pytest.mark.parametrize("given", PODS, ids=called)
def test_no_pod_is_root_or_writes_to_its_image_or_holds_a_token(given: tuple[str, Object]) -> None:
    spec = pod(given[1])
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    user = spec["securityContext"]["runAsUser"]
    assert f"USER {user}:{user}" in (KUBERNETES.parent / "Dockerfile").read_text()
    for container in containers(given[1]):
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] is True
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("given", PODS, ids=called)
def test_secrets_come_by_reference_and_only_to_whom_they_are_for(given: tuple[str, Object]) -> None:
    name = given[1]["metadata"]["name"].removeprefix("rewrite-batch-")
    login = {"migrate": "owner", "submit": "worker", "collect": "worker"}.get(name, "analyst")
    for container in containers(given[1]):
        refs = {e["name"]: e["valueFrom"]["secretKeyRef"] for e in container["env"] if "secretKeyRef" in str(e)}
        assert refs["DATABASE_URL"] == {"name": f"rewrite-batch-{login}", "key": "DATABASE_URL"}
        wants_key = login == "worker" and container["name"] == "run"
        assert ("OPENAI_API_KEY" in refs) == wants_key
        plain = {e["name"] for e in container["env"] if "value" in e}
        assert plain <= {"TMPDIR"}, "settings are in the ConfigMap"


@pytest.mark.parametrize("environment", BUILT)
def test_the_network_is_closed_but_for_names_the_database_and_the_provider(environment: str) -> None:
    everyone = named(environment, "NetworkPolicy", "rewrite-batch")["spec"]
    assert everyone["policyTypes"] == ["Ingress", "Egress"]
    assert everyone["ingress"] == []
    ports = [{port["port"] for port in rule["ports"]} for rule in everyone["egress"]]
    assert ports == [{53}, {5432, 6432}]
    provider = named(environment, "NetworkPolicy", "rewrite-batch-provider")["spec"]
    public = provider["egress"][0]
    assert [port["port"] for port in public["ports"]] == [443]
    assert "169.254.0.0/16" in public["to"][0]["ipBlock"]["except"], "the cloud's metadata is no provider"
    selected = everyone["podSelector"]["matchLabels"].items()
    for _, found in PODS:
        template = (found["spec"].get("jobTemplate") or found)["spec"]["template"]
        labels = template["metadata"]["labels"].items()
        assert labels >= selected
        reaches = provider["podSelector"]["matchLabels"].items() <= labels
        assert reaches == found["metadata"]["name"].endswith(("submit", "collect"))


def test_no_manifest_holds_a_secret() -> None:
    assert {found["kind"] for _, found in EACH} == {
        "Namespace", "ServiceAccount", "ConfigMap", "PersistentVolumeClaim", "Job", "CronJob", "NetworkPolicy",
    }  # fmt: skip
