"""Measures two sets of controllers on the same work; `bench/controllers` says how to call it."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "conformance/peers"))
from plane import Api, Embedded, Plane, by_verb, collection, commit, is_ready, serve_git


def application(index):
    """Four objects; a Deployment of no replicas is ready once its controller has seen it."""
    name = f"app-{index:04}"
    labels = {"app": name}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "bench"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "bench"}, "data": {"greeting": "hello"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "bench"},
         "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "bench"},
         "spec": {"replicas": 0, "selector": {"matchLabels": labels},
                  "template": {"metadata": {"labels": labels},
                               "spec": {"serviceAccountName": name, "containers": [{"name": "app", "image": "app:1"}]}}}},
    ]


def make_repository(root, count):
    """A repository with one directory for each application."""
    work = root / "bench"
    for index in range(count):
        directory = work / "apps" / f"app-{index:04}"
        directory.mkdir(parents=True)
        (directory / "objects.yaml").write_text("---\n".join(json.dumps(it) + "\n" for it in application(index)))
    commit(work, "applications")


class Watcher(threading.Thread):
    """Says when all Kustomizations are Ready, from one watch."""

    def __init__(self, plane, count):
        super().__init__(daemon=True)
        self.count, self.ready, self.last = count, set(), None
        self.done = threading.Event()
        self.api = Api(plane.port, plane.token)

    def run(self):
        for line in self.api.send("GET", f"{collection('Kustomization')}?watch=1"):
            item = json.loads(line)["object"]
            if is_ready(item):
                self.ready.add(item["metadata"]["name"])
            if len(self.ready) >= self.count:
                self.last = time.monotonic()
                self.done.set()
                return


def kustomization(name, options, depends_on=None):
    spec = {"interval": options.interval, "path": f"./apps/{name}", "prune": True, "wait": True, "timeout": "5m",
            "sourceRef": {"kind": "GitRepository", "name": "bench"}}
    if depends_on:
        spec["dependsOn"] = [{"name": depends_on}]
    return {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name}, "spec": spec}


def make_foreign(plane, count):
    """Objects that are none of the controllers' business, but of kinds that they watch."""
    def make(part):
        api = Api(plane.port, plane.token)
        for index in range(part, count, 8):
            api.ask("POST", "/api/v1/namespaces/default/configmaps", {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"foreign-{index:06}"}, "data": {"text": "x" * 500}})
    threads = [threading.Thread(target=make, args=(part,)) for part in range(8 if count else 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


TUNED = ["--kube-api-qps=500", "--kube-api-burst=1000"]


def measure_floor(count, options, root):
    """The requests that no controller can do without, sent by a bare client."""
    plane = (Embedded if options.embedded else Plane)(options.sluice)
    try:
        command = [options.bench, "floor", "--kubeconfig", plane.kubeconfig, "--directory", root / "bench/apps", "--count", str(count)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    finally:
        plane.close()


def measure(side, count, options, git_port):
    plane = (Embedded if options.embedded else Plane)(options.sluice)
    try:
        make_foreign(plane, options.foreign)
        plane.start(side, flags={"ours": options.flag, "tuned": TUNED}.get(side, ()))
        plane.api.ask("POST", collection("GitRepository"), {
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "bench"},
            "spec": {"interval": "1h", "url": f"http://127.0.0.1:{git_port}/bench/.git", "ref": {"branch": "main"}}})
        plane.until("the GitRepository is Ready", 120, lambda: is_ready(plane.api.ask("GET", f"{collection('GitRepository')}/bench")))
        watcher = Watcher(plane, count)
        watcher.start()
        started = time.monotonic()
        names = [f"app-{index:04}" for index in range(count)]
        for before, name in zip([None, *names], names):
            plane.api.ask("POST", collection("Kustomization"), kustomization(name, options, before if options.chain else None))
        created = time.monotonic() - started
        if not watcher.done.wait(1800):
            raise RuntimeError(f"{side}: only {len(watcher.ready)} of {count} became Ready")
        cpu, memory = plane.used()
        entries = plane.requests(side)
        result = {"seconds": round(watcher.last - started, 2), "created in": round(created, 2), "CPU seconds": round(cpu, 2), "memory MB": round(memory, 1),
                  "requests": len(entries), "by verb": by_verb(entries)}
        if options.idle:
            end = plane.audit_end()
            time.sleep(options.idle)
            entries = plane.requests(side, end)
            result["idle requests"] = len(entries)
            result["idle by verb"] = by_verb(entries)
            result["idle CPU seconds"] = round(plane.used()[0] - cpu, 2)
        return result
    finally:
        plane.close(options.keep)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sluice", required=True)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--only", choices=["ours", "upstream", "tuned", "floor"])
    parser.add_argument("--embedded", action="store_true", help="on the embedded cluster")
    parser.add_argument("--foreign", type=int, default=0, help="so many other ConfigMaps are there before")
    parser.add_argument("--chain", action="store_true", help="each Kustomization depends on the one before")
    parser.add_argument("--interval", default="1h", help="of the Kustomizations")
    parser.add_argument("--idle", type=int, default=0, help="seconds to watch both being idle")
    parser.add_argument("--keep", action="store_true", help="keep logs")
    parser.add_argument("--flag", action="append", default=[], help="another flag for sluice serve")
    parser.add_argument("counts", type=int, nargs="*", default=[100, 500])
    options = parser.parse_args()
    root = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-git-"))
    try:
        make_repository(root, max(options.counts))
        port = serve_git(root)
        for count in options.counts:
            sides = [options.only] if options.only else ["floor", "upstream", "tuned", "ours"]
            results = {}
            for side in sides:
                results[side] = measure_floor(count, options, root) if side == "floor" else measure(side, count, options, port)
                print(f"{count} Kustomizations, {side}: {json.dumps(results[side])}", flush=True)
            ours = results.pop("ours", None)
            for side, other in results.items() if ours else ():
                for key, value in other.items():
                    if isinstance(value, (int, float)) and ours.get(key) and key != "created in":
                        print(f"{count} Kustomizations, {key}: {side} / ours = {value / ours[key]:.2f}")
    finally:
        shutil.rmtree(root, ignore_errors=True)


main()
