"""What the servers hold: repositories, artifacts and buckets, and the keys that sign them. The same bytes for both sides of a run."""

import base64
import gzip
import hashlib
import http.client
import io
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tarfile
import time

FLUX_CONFIG = "application/vnd.cncf.flux.config.v1+json"
FLUX_LAYER = "application/vnd.cncf.flux.content.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
FILES = {"app/deployment.yaml": "kind: Deployment\n", "app/service.yaml": "kind: Service\n", "docs/readme.md": "# docs\n", "kustomization.yaml": "resources: []\n"}
MOMENT = "2026-01-01T00:00:00Z"
BOMB = 20 << 20


def run(*command, cwd=None, env=None):
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout


class Keys:
    """Keys of all kinds, made for one run: a certificate authority, PGP, SSH, cosign."""

    def __init__(self, root):
        self.root = root
        root.mkdir()
        # gpg's agent wants a short path to its socket.
        home = root / "gpg"
        home.mkdir(mode=0o700)
        self.environment = dict(
            os.environ, GNUPGHOME=str(home), GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="ann", GIT_AUTHOR_EMAIL="ann@example.com",
            GIT_COMMITTER_NAME="ann", GIT_COMMITTER_EMAIL="ann@example.com", GIT_AUTHOR_DATE=MOMENT, GIT_COMMITTER_DATE=MOMENT)
        self.texts = {}
        for name in ("ann", "eve"):
            address = f"{name}@example.com"
            run("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", f"{name} <{address}>", "ed25519", "sign", "never", env=self.environment)
            self.texts[f"pgp-{name}"] = run("gpg", "--armor", "--export", address, env=self.environment)
            run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(root / f"cosign-{name}.key"))
            self.texts[f"cosign-{name}"] = run("openssl", "ec", "-in", str(root / f"cosign-{name}.key"), "-pubout")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ann@example.com", "-f", str(root / "ssh"))
        self.certificate = self.authority()
        self.texts["docker-right"] = self.docker("user", "secret")
        self.texts["docker-wrong"] = self.docker("user", "guess")

    def authority(self):
        """A certificate for loopback, from an authority of its own."""
        at = lambda name: str(self.root / name)
        common = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
        for name in ("ca", "other-ca"):
            run(*common, "-subj", f"/CN={name}", "-keyout", at(f"{name}.key"), "-out", at(f"{name}.crt"))
            self.texts[name] = (self.root / f"{name}.crt").read_text()
        run(*common, "-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-subj", "/CN=loopback", "-addext", "subjectAltName=IP:127.0.0.1",
            "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", at("server.key"), "-out", at("server.crt"))
        return at("server.crt"), at("server.key")

    def docker(self, user, password):
        entry = {"username": user, "password": password}
        return json.dumps({"auths": {"{{ports}}": entry}})

    def sign(self, name, payload):
        done = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.root / f"cosign-{name}.key")], input=payload, capture_output=True, check=True)
        return base64.b64encode(done.stdout).decode()

    def close(self):
        run("gpgconf", "--kill", "all", env=self.environment)


class Repositories:
    """Git repositories, one for each case, begun as copies of one with branches and tags."""

    def __init__(self, root, keys):
        self.root, self.keys = root, keys
        root.mkdir()
        self.script("base", """
            git init --quiet --initial-branch=main
            mkdir app docs; echo 'kind: Deployment' > app/deployment.yaml; echo 'kind: Service' > app/service.yaml; echo '# docs' > docs/readme.md
            git add . && git commit --quiet -m 'first words' -m 'and more of them' && git tag v1.0.0 && git tag v0.9.0
            echo 'kind: Job' > app/job.yaml && git add . && git commit --quiet -m second && git tag -a v1.1.0 -m 'one dot one'
            git tag v2.0.0-rc.1 && git tag release && git update-ref refs/pull/1/head HEAD~1
            git checkout --quiet -b dev && echo dev > dev.txt && git add . && git commit --quiet -m dev && git checkout --quiet main
        """)

    def copied(self, root):
        """The same repositories again: signatures hold the time at which they were made."""
        copy = object.__new__(Repositories)
        copy.root, copy.keys = root, self.keys
        shutil.copytree(self.root, root)
        return copy

    def script(self, name, text):
        """Changes the work tree of a repository."""
        work = self.root / name
        work.mkdir(exist_ok=True)
        run("bash", "-euc", text, cwd=work, env=self.keys.environment)

    def make(self, name, text):
        shutil.copytree(self.root / "base", self.root / name)
        if text:
            self.script(name, text)


class Registry:
    """The real registry, and what is pushed to it."""

    def __init__(self, root, program, keys):
        self.keys = keys
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        root.mkdir()
        self.root, self.program, self.process = root, program, None
        address = f"127.0.0.1:{self.port}"
        (root / "config.yml").write_text(f"version: 0.1\nstorage: {{inmemory: {{}}}}\nhttp: {{addr: '{address}'}}\nlog: {{level: error}}\n")

    def begin(self):
        """Starts it anew, with nothing in it."""
        self.close()
        log = open(self.root / "log", "a")
        self.process = subprocess.Popen([self.program, "serve", self.root / "config.yml"], stdout=log, stderr=log)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the registry does not answer")

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.wait()

    def ask(self, method, path, body=b"", fields=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, body, fields or {})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content!r}")
        return answer

    def blob(self, name, content):
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        begun = self.ask("POST", f"/v2/{name}/blobs/uploads/").getheader("Location")
        path = begun.split(f":{self.port}", 1)[-1]
        self.ask("PUT", f"{path}{'&' if '?' in path else '?'}digest={digest}", content, {"Content-Type": "application/octet-stream"})
        return {"digest": digest, "size": len(content)}

    def push(self, name, artifact):
        """An artifact as a case describes it: its tag, layers, annotations, who signs it."""
        layers = []
        for layer in artifact.get("layers", [{}]):
            described = self.blob(name, packed(layer))
            layers.append({"mediaType": layer.get("mediaType", FLUX_LAYER), **described})
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": FLUX_CONFIG, **self.blob(name, b"{}")}, "layers": layers}
        if "annotations" in artifact:
            manifest["annotations"] = artifact["annotations"]
        digest = self.manifest(name, artifact["tag"], manifest)
        if "signer" in artifact:
            self.sign(name, digest, artifact["signer"])

    def push_with(self, flux, name):
        """An artifact as the real client makes it."""
        directory = self.root / name
        for path, text in FILES.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text)
        run(str(flux), "push", "artifact", f"oci://127.0.0.1:{self.port}/{name}:latest", "--path", str(directory),
            "--source", "https://example.com/r", "--revision", "main@sha1:1234", "--reproducible")

    def manifest(self, name, tag, manifest):
        content = json.dumps(manifest, sort_keys=True).encode()
        self.ask("PUT", f"/v2/{name}/manifests/{tag}", content, {"Content-Type": MANIFEST})
        return f"sha256:{hashlib.sha256(content).hexdigest()}"

    def sign(self, name, digest, signer):
        payload = json.dumps({
            "critical": {"identity": {"docker-reference": ""}, "image": {"docker-manifest-digest": digest}, "type": "cosign container image signature"},
            "optional": None}, sort_keys=True).encode()
        marks = {"dev.cosignproject.cosign/signature": self.keys.sign(signer, payload)}
        layer = {"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", **self.blob(name, payload), "annotations": marks}
        config = {"mediaType": "application/vnd.oci.image.config.v1+json", **self.blob(name, b"{}")}
        self.manifest(name, digest.replace(":", "-") + ".sig", {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]})


def packed(layer):
    """The bytes of a layer: files in an archive, or something that is none or is to do harm."""
    if "text" in layer:
        return layer["text"].encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in layer.get("files", FILES).items():
            entry = tarfile.TarInfo(name)
            content = b"\0" * BOMB if text == "<bomb>" else text.encode()
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for name, target in layer.get("links", {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    content = gzip.compress(out.getvalue(), mtime=0)
    return content[:layer["cut"]] if "cut" in layer else content


def objects(description):
    """The content of a bucket."""
    return {key: text.encode() for key, text in description.items()}
