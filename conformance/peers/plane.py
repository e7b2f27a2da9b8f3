"""A real control plane with controllers on it, for comparisons: starting both, a small client, a Git server, the audit log."""

import collections
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = pathlib.Path(__file__).resolve().parent
PEERS = pathlib.Path(os.environ.get("SLUICE_PEERS") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sluice-peers") / "bin"
TICKS = os.sysconf("SC_CLK_TCK")
SOURCE = "source-controller"
KUSTOMIZE = "kustomize-controller"
GROUPS = {"GitRepository": "source.toolkit.fluxcd.io", "Kustomization": "kustomize.toolkit.fluxcd.io"}
PATHS = {"GitRepository": "gitrepositories", "Kustomization": "kustomizations"}


def commit(work, message):
    """Commits everything in a directory, which becomes a repository at the first time."""
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com"]
    if not (work / ".git").exists():
        subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], cwd=work, check=True)
    subprocess.run([*git, "add", "--all"], cwd=work, check=True)
    subprocess.run([*git, "commit", "--quiet", f"--message={message}"], cwd=work, check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], cwd=work, check=True, capture_output=True, text=True).stdout.strip()


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


def serve_git(root):
    """Serves the repositories below a directory on loopback; says on which port."""
    handler = type("Backend", (GitBackend,), {"root": str(root)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


class Api:
    """Just enough of a client."""

    def __init__(self, port, token="admin-token"):
        self.token = token
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, context=ssl._create_unverified_context())

    def send(self, method, path, body=None, kind="application/json"):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind, "User-Agent": "bench"}
        self.connection.request(method, path, body, headers)
        return self.connection.getresponse()

    def ask(self, method, path, body=None, kind="application/json"):
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        answer = self.send(method, path, text, kind)
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return json.loads(content) if content else None


def collection(kind, namespace="flux-system"):
    return f"/apis/{GROUPS[kind]}/v1/namespaces/{namespace}/{PATHS[kind]}"


def condition(item, name):
    return next((it for it in item.get("status", {}).get("conditions", []) if it["type"] == name), None)


def is_ready(item):
    ready = condition(item, "Ready")
    current = item.get("status", {}).get("observedGeneration") == item["metadata"]["generation"]
    return bool(ready) and ready["status"] == "True" and current


class Plane:
    """A control plane of its own, with Flux's definitions; controllers come and go."""

    def __init__(self, sluice, port=26800):
        self.sluice = str(pathlib.Path(sluice).resolve())
        self.port = port
        self.state = pathlib.Path(tempfile.mkdtemp(prefix="sluice-plane-"))
        self.directory = self.state / "plane"
        self.processes = {}
        (self.state / "artifacts").mkdir()
        self.open()
        self.kubeconfig = str(self.directory / "kubeconfig")
        self.token = re.search(r"token: [\"']?([^\"'\s}]+)", pathlib.Path(self.kubeconfig).read_text()).group(1)
        self.api = Api(port, self.token)
        definitions = subprocess.run([self.sluice, "crds"], check=True, capture_output=True, text=True).stdout
        for text in definitions.split("\n---\n"):
            name = next((line.split()[1] for line in text.splitlines() if line.startswith("  name: ")), None)
            if name:
                path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=bench"
                self.api.ask("PATCH", path, text, "application/apply-patch+yaml")
        for name in ("flux-system", "bench"):
            self.api.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        time.sleep(3)

    def open(self):
        subprocess.run([HERE / "up", self.directory, str(self.port), "--workloads", "--audit"], check=True, capture_output=True)

    def shut(self):
        subprocess.run([HERE / "down", self.directory], capture_output=True)

    def start(self, side, controllers=(SOURCE, KUSTOMIZE), flags=()):
        """Starts controllers: ours in one process, or upstream's."""
        port = self.port + 20
        artifacts = str(self.state / "artifacts")
        if side == "ours":
            commands = {"sluice": [
                self.sluice, "serve", "--kubeconfig", self.kubeconfig, "--controllers", ",".join(controllers), "--storage-path", artifacts,
                "--storage-addr", f"127.0.0.1:{port}", "--storage-adv-addr", f"127.0.0.1:{port}",
                "--concurrent", "10", "--requeue-dependency", "5s", *flags]}
        else:
            common = ["--events-addr=", "--enable-leader-election=false", "--watch-all-namespaces=true", "--log-level=error", "--concurrent=10", *flags]
            all_commands = {
                SOURCE: [str(PEERS / SOURCE), f"--storage-path={artifacts}", f"--storage-addr=127.0.0.1:{port}", f"--storage-adv-addr=127.0.0.1:{port}",
                         f"--metrics-addr=127.0.0.1:{port + 1}", f"--health-addr=127.0.0.1:{port + 2}", *common],
                KUSTOMIZE: [str(PEERS / KUSTOMIZE), f"--metrics-addr=127.0.0.1:{port + 3}", f"--health-addr=127.0.0.1:{port + 4}",
                            "--requeue-dependency=5s", *common],
            }
            commands = {name: all_commands[name] for name in controllers}
        environment = dict(os.environ, KUBECONFIG=self.kubeconfig, RUNTIME_NAMESPACE="flux-system")
        for name, command in commands.items():
            log = open(self.state / f"{side}-{name}.log", "a")
            self.processes[f"{side} {name}"] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def stop(self, side=""):
        """Ends the controllers of a side as Kubernetes would."""
        chosen = [name for name in self.processes if name.startswith(side)]
        for name in chosen:
            self.processes[name].send_signal(signal.SIGTERM)
        for name in chosen:
            process = self.processes.pop(name)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()

    def close(self, keep=False):
        self.stop()
        self.shut()
        if keep:
            print(f"kept: {self.state}")
        else:
            shutil.rmtree(self.state, ignore_errors=True)

    def until(self, what, seconds, holds):
        """Asks until something holds, and says how long it took."""
        started = time.monotonic()
        while not holds():
            if time.monotonic() - started > seconds:
                ended = [name for name, process in self.processes.items() if process.poll() is not None]
                raise RuntimeError(f"not within {seconds} s: {what}" + (f" ({', '.join(ended)} ended)" if ended else ""))
            time.sleep(0.25)
        return time.monotonic() - started

    def used(self):
        """CPU seconds and the greatest memory so far, in MB, of all controllers."""
        cpu = memory = 0
        for process in self.processes.values():
            fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
            cpu += (int(fields[11]) + int(fields[12])) / TICKS
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            memory += next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
        return cpu, memory

    def requests(self, side, since=0):
        """What the controllers of a side asked for, in the order of the audit log, from an offset on."""
        agents = ("sluice/",) if side == "ours" else (SOURCE, KUSTOMIZE)
        with open(self.directory / "audit.log") as log:
            log.seek(since)
            entries = [json.loads(line) for line in log if line.endswith("\n")]
        return [entry for entry in entries if entry.get("userAgent", "").startswith(agents)]

    def audit_end(self):
        return (self.directory / "audit.log").stat().st_size


class Embedded(Plane):
    """The embedded cluster in a process of its own; it writes no audit log."""

    def open(self):
        self.directory.mkdir()
        (self.directory / "audit.log").touch()
        command = [self.sluice, "cluster", "serve", "--addr", f"127.0.0.1:{self.port}", "--kubeconfig", self.directory / "kubeconfig"]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.server.stdout.readline()

    def shut(self):
        self.server.terminate()
        self.server.wait()


def by_verb(entries):
    return dict(sorted(collections.Counter(entry["verb"] for entry in entries).items()))


def writes_to_workloads(entries):
    """Requests that changed something other than Flux's own objects, events and leases."""
    found = []
    for entry in entries:
        target = entry.get("objectRef", {})
        is_write = entry["verb"] in ("create", "update", "patch", "delete", "deletecollection") and "dryRun=All" not in entry["requestURI"]
        own = target.get("apiGroup", "").endswith("toolkit.fluxcd.io") or target.get("resource") in ("events", "leases")
        if is_write and not own and entry.get("responseStatus", {}).get("code", 0) < 300:
            found.append(entry)
    return found
