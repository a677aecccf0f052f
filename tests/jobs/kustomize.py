"""As much of kustomize as our overlays use: resources, strategic merge patches, a namespace, image tags.

With `kubectl` on this machine a test compares the two, so this cannot drift.
"""

import copy
import re
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
# Lists of these fields are merged by this key; any other list is replaced.
KEYS = {"containers": "name", "initContainers": "name", "volumes": "name", "env": "name", "volumeMounts": "mountPath"}
CLUSTER_WIDE = {"Namespace"}
KNOWN = {"apiVersion", "kind", "namespace", "resources", "patches", "images"}


def build(directory: Path) -> list[Object]:
    plan: Object = yaml.safe_load((directory / "kustomization.yaml").read_text())
    assert set(plan) <= KNOWN, f"{directory}: this stand-in does not know {set(plan) - KNOWN}"
    objects = [found for resource in plan["resources"] for found in _load(directory / resource)]
    for patch in plan.get("patches", []):
        [change] = _documents(directory / patch["path"])
        target = patch.get("target") or {"kind": change["kind"], "name": change["metadata"]["name"]}
        chosen = [each for each in objects if _is_meant(each, target)]
        assert chosen, f"{patch['path']} changes nothing"
        for each in chosen:
            name = each["metadata"]["name"]
            _merge(each, change)
            each["metadata"]["name"] = name
    for each in objects:
        if "namespace" in plan and each["kind"] not in CLUSTER_WIDE:
            each["metadata"]["namespace"] = plan["namespace"]
    tags = {image["name"]: f"{image['name']}:{image['newTag']}" for image in plan.get("images", [])}
    for each in objects:
        for container in containers(each):
            container["image"] = tags.get(container["image"], container["image"])
    return objects


def pod_spec(found: Object) -> Object | None:
    spec = found.get("spec", {})
    if found["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return spec["template"]["spec"] if "template" in spec else None


def containers(found: Object) -> list[Object]:
    pod = pod_spec(found)
    return [*pod.get("initContainers", []), *pod["containers"]] if pod else []


def _load(path: Path) -> list[Object]:
    return build(path) if path.is_dir() else _documents(path)


def _documents(path: Path) -> list[Object]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def _is_meant(found: Object, target: dict[str, str]) -> bool:
    """A target's name is a regular expression over the whole name."""
    named = re.fullmatch(target.get("name", ".*"), found["metadata"]["name"])
    return found["kind"] == target["kind"] and named is not None


def _merge(into: Object, change: Object) -> None:
    for field, value in change.items():
        old = into.get(field)
        if isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)  # pyright: ignore[reportUnknownArgumentType]  YAML is what it is
        elif isinstance(old, list) and field in KEYS:
            _merge_list(old, value, KEYS[field])  # pyright: ignore[reportUnknownArgumentType]  the same
        else:
            into[field] = copy.deepcopy(value)


def _merge_list(into: list[Object], change: list[Object], key: str) -> None:
    for value in change:
        old = next((each for each in into if each[key] == value[key]), None)
        if old is None:
            into.append(copy.deepcopy(value))
        else:
            _merge(old, value)
