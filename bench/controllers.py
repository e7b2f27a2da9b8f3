"""Measures two sets of controllers on the same work; `bench/controllers` says how to call it."""

import argparse
import collections
import http.client
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = pathlib.Path(__file__).resolve().parent
PORT = 26800
TICKS = os.sysconf("SC_CLK_TCK")
GROUPS = {"GitRepository": "source.toolkit.fluxcd.io", "Kustomization": "kustomize.toolkit.fluxcd.io"}
PATHS = {"GitRepository": "gitrepositories", "Kustomization": "kustomizations"}


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
    """A bare repository with one directory for each application."""
    work = root / "work"
    work.mkdir(parents=True)
    for index in range(count):
        directory = work / "apps" / f"app-{index:04}"
        directory.mkdir(parents=True)
        (directory / "objects.yaml").write_text("---\n".join(json.dumps(it) + "\n" for it in application(index)))
    git = lambda *words: subprocess.run(
        ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", *words], cwd=work, check=True, capture_output=True)
    git("init", "--initial-branch=main")
    git("add", ".")
    git("commit", "--message=applications")
    git("clone", "--bare", ".", str(root / "bench.git"))


class GitBackend(BaseHTTPRequestHandler):
    """git's own server program behind a small HTTP server."""

    root = ""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(b"")

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def answer(self, body):
        path, _, query = self.path.partition("?")
        environment = dict(
            os.environ, GIT_PROJECT_ROOT=self.root, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query,
            REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("Content-Type", ""), CONTENT_LENGTH=str(len(body)),
            GIT_PROTOCOL=self.headers.get("Git-Protocol", ""), HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""))
        out = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True).stdout
        head, _, content = out.partition(b"\r\n\r\n")
        status = 200
        fields = []
        for line in head.decode().splitlines():
            name, _, value = line.partition(": ")
            if name == "Status":
                status = int(value.split()[0])
            else:
                fields.append((name, value))
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Api:
    """Just enough of a client."""

    def __init__(self):
        self.context = ssl._create_unverified_context()
        self.open()

    def open(self):
        self.connection = http.client.HTTPSConnection("127.0.0.1", PORT, context=self.context)

    def ask(self, method, path, body=None, kind="application/json"):
        headers = {"Authorization": "Bearer admin-token", "Content-Type": kind, "User-Agent": "bench"}
        self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300 and answer.status != 409:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text) if text else None


def collection(kind):
    return f"/apis/{GROUPS[kind]}/v1/namespaces/flux-system/{PATHS[kind]}"


def is_ready(item):
    conditions = item.get("status", {}).get("conditions", [])
    return any(it["type"] == "Ready" and it["status"] == "True" for it in conditions)


class Watcher(threading.Thread):
    """Says when all Kustomizations are Ready, from one watch."""

    def __init__(self, count):
        super().__init__(daemon=True)
        self.count, self.ready, self.last = count, set(), None
        self.done = threading.Event()
        self.latencies = {}
        self.api = Api()

    def run(self):
        self.api.connection.request(
            "GET", f"{collection('Kustomization')}?watch=1&allowWatchBookmarks=true",
            headers={"Authorization": "Bearer admin-token", "User-Agent": "bench"})
        answer = self.api.connection.getresponse()
        for line in answer:
            event = json.loads(line)
            item = event["object"]
            if event["type"] == "BOOKMARK" or not is_ready(item):
                continue
            self.ready.add(item["metadata"]["name"])
            if len(self.ready) >= self.count and not self.done.is_set():
                self.last = time.monotonic()
                self.done.set()


def used(pid):
    """CPU seconds, and the greatest memory so far in MB."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / TICKS, peak / 1024


def controllers_of(side, options, state, kubeconfig):
    """The command lines of a side."""
    peers = pathlib.Path(options.peers)
    port = PORT + 20
    if side == "ours":
        return {"sluice": [options.sluice, "serve", "--kubeconfig", kubeconfig, "--storage-path", str(state / "artifacts"),
                           "--storage-addr", f"127.0.0.1:{port}", "--concurrent", "10", "--requeue-dependency", "5s", *options.flag]}
    common = ["--events-addr=", "--enable-leader-election=false", "--watch-all-namespaces=true", "--log-level=error", "--concurrent=10"]
    return {
        "source-controller": [str(peers / "source-controller"), f"--storage-path={state / 'artifacts'}", f"--storage-addr=127.0.0.1:{port}",
                              f"--storage-adv-addr=127.0.0.1:{port}", f"--metrics-addr=127.0.0.1:{port + 1}",
                              f"--health-addr=127.0.0.1:{port + 2}", *common],
        "kustomize-controller": [str(peers / "kustomize-controller"), f"--metrics-addr=127.0.0.1:{port + 3}",
                                 f"--health-addr=127.0.0.1:{port + 4}", "--requeue-dependency=5s", *common],
    }


def requests(log, agents):
    """How many requests these programs made, by verb."""
    counts = collections.Counter()
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        if any(agent in entry.get("userAgent", "") for agent in agents):
            counts[entry["verb"]] += 1
    return counts


def measure(side, count, options, git_port):
    state = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-"))
    plane = state / "plane"
    processes = {}
    try:
        subprocess.run([HERE.parent / "conformance/peers/up", plane, str(PORT), "--workloads", "--audit"], check=True, capture_output=True)
        kubeconfig = str(plane / "kubeconfig")
        definitions = subprocess.run([options.sluice, "crds"], check=True, capture_output=True, text=True).stdout
        api = Api()
        for text in definitions.split("\n---\n"):
            name = next((line.split()[1] for line in text.splitlines() if line.startswith("  name: ")), None)
            if not name:
                continue
            api.connection.request(
                "PATCH", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=bench", text,
                {"Authorization": "Bearer admin-token", "Content-Type": "application/apply-patch+yaml", "User-Agent": "bench"})
            answer = api.connection.getresponse()
            body = answer.read()
            assert answer.status < 300, body
        for name in ("flux-system", "bench"):
            api.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        time.sleep(3)
        environment = dict(os.environ, KUBECONFIG=kubeconfig, RUNTIME_NAMESPACE="flux-system")
        environment.pop("SLUICE", None)
        for name, command in controllers_of(side, options, state, kubeconfig).items():
            log = open(state / f"{name}.log", "w")
            processes[name] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        api.ask("POST", collection("GitRepository"), {
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "bench"},
            "spec": {"interval": "1h", "url": f"http://127.0.0.1:{git_port}/bench.git", "ref": {"branch": "main"}}})
        deadline = time.monotonic() + 120
        while not is_ready(api.ask("GET", f"{collection('GitRepository')}/bench")):
            assert time.monotonic() < deadline, "the GitRepository did not become Ready"
            time.sleep(0.25)
        watcher = Watcher(count)
        watcher.start()
        started = time.monotonic()
        for index in range(count):
            name = f"app-{index:04}"
            api.ask("POST", collection("Kustomization"), {
                "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
                "spec": {"interval": "1h", "path": f"./apps/{name}", "prune": True, "wait": True, "timeout": "5m",
                         "sourceRef": {"kind": "GitRepository", "name": "bench"}}})
        created = time.monotonic() - started
        if not watcher.done.wait(1800):
            raise RuntimeError(f"{side}: only {len(watcher.ready)} of {count} became Ready")
        seconds = watcher.last - started
        use = [used(process.pid) for process in processes.values()]
        result = {"seconds": seconds, "created in": created, "CPU seconds": sum(it[0] for it in use), "memory MB": sum(it[1] for it in use)}
        agents = ("sluice",) if side == "ours" else ("source-controller", "kustomize-controller")
        counts = requests(plane / "audit.log", agents)
        result["requests"] = sum(counts.values())
        result["by verb"] = dict(sorted(counts.items()))
        if options.idle:
            before = sum(requests(plane / "audit.log", agents).values())
            cpu = sum(used(process.pid)[0] for process in processes.values())
            time.sleep(options.idle)
            result["idle requests"] = sum(requests(plane / "audit.log", agents).values()) - before
            result["idle CPU seconds"] = sum(used(process.pid)[0] for process in processes.values()) - cpu
        return result
    finally:
        for process in processes.values():
            process.send_signal(signal.SIGTERM)
        for process in processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        subprocess.run([HERE.parent / "conformance/peers/down", plane], capture_output=True)
        if options.keep:
            print(f"kept: {state}")
        else:
            shutil.rmtree(state, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sluice", required=True)
    parser.add_argument("--peers", required=True)
    parser.add_argument("--only", choices=["ours", "upstream"])
    parser.add_argument("--idle", type=int, default=0, help="seconds to watch both being idle")
    parser.add_argument("--keep", action="store_true", help="keep logs")
    parser.add_argument("--flag", action="append", default=[], help="another flag for sluice serve")
    parser.add_argument("counts", type=int, nargs="*", default=[100, 500])
    options = parser.parse_args()
    options.sluice = str(pathlib.Path(options.sluice).resolve())
    root = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-git-"))
    try:
        make_repository(root, max(options.counts))
        GitBackend.root = str(root)
        server = ThreadingHTTPServer(("127.0.0.1", 0), GitBackend)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for count in options.counts:
            sides = [options.only] if options.only else ["upstream", "ours"]
            results = {}
            for side in sides:
                results[side] = measure(side, count, options, server.server_port)
                print(f"{count} Kustomizations, {side}: {json.dumps(results[side])}", flush=True)
            if len(results) == 2:
                for key, value in results["ours"].items():
                    if isinstance(value, (int, float)) and value and key != "created in":
                        print(f"{count} Kustomizations, {key}: {results['upstream'][key] / value:.1f} times better")
    finally:
        shutil.rmtree(root, ignore_errors=True)


main()
