"""Trees of many objects, built by kustomize and by sluice; see bench/kustomize."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

OVERLAY = """\
resources: [{bases}]
namespace: shop
namePrefix: prod-
labels:
- pairs: {{team: shop}}
  includeSelectors: true
images:
- name: example.com/app
  newTag: "2.0"
patches:
- target: {{kind: Deployment, name: app-1}}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {{name: any}}
    spec: {{replicas: 5}}
"""


def applications(count):
    """Name and text of each object: Deployments, each with what it needs, as real repositories have them."""
    for number in range(count // 4):
        name = f"app-{number}"
        yield f"{name}-deployment", f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  labels: {{app: {name}}}
spec:
  replicas: 1
  selector:
    matchLabels: {{app: {name}}}
  template:
    metadata:
      labels: {{app: {name}}}
    spec:
      serviceAccountName: {name}
      initContainers:
      - name: migrate
        image: example.com/app:1.0
        envFrom:
        - configMapRef: {{name: {name}}}
      containers:
      - name: app
        image: example.com/app:1.0
        ports:
        - {{name: http, containerPort: 8080}}
        env:
        - name: LEVEL
          valueFrom:
            configMapKeyRef: {{name: {name}, key: LEVEL}}
        - name: TOKEN
          valueFrom:
            secretKeyRef: {{name: {name}, key: token}}
        livenessProbe:
          httpGet: {{path: /healthz, port: http}}
        resources:
          limits: {{cpu: 100m, memory: 64Mi}}
      - name: proxy
        image: example.com/proxy:3.1
        volumeMounts:
        - {{name: config, mountPath: /etc/proxy}}
      volumes:
      - name: config
        configMap: {{name: {name}}}
      - name: secret
        secret: {{secretName: {name}}}
"""
        yield f"{name}-service", f"""\
apiVersion: v1
kind: Service
metadata:
  name: {name}
spec:
  selector: {{app: {name}}}
  ports:
  - {{name: http, port: 80, targetPort: http}}
"""
        yield f"{name}-config", f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  LEVEL: info
  NUMBER: "{number}"
  proxy.yaml: |
    listen: 8081
    upstream: http://127.0.0.1:8080
"""
        yield f"{name}-account", f"""\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {name}
"""


def deployments(count):
    """Deployments alone, the kind with the most references."""
    return [pair for pair in applications(4 * count) if pair[0].endswith("-deployment")]


def write(root, objects, overlays=1):
    base = root / "base"
    base.mkdir(parents=True)
    names = []
    for name, text in objects:
        names.append(f"- {name}.yaml\n")
        (base / f"{name}.yaml").write_text(text)
    (base / "kustomization.yaml").write_text("resources:\n" + "".join(names))
    for number in range(overlays):
        overlay = root / f"overlay-{number}"
        overlay.mkdir()
        (overlay / "kustomization.yaml").write_text(OVERLAY.format(bases="../base"))
    return root / "overlay-0"


def run(command, output):
    """Seconds and peak memory in MB of one command."""
    started = time.monotonic()
    with open(output, "wb") as file:
        process = subprocess.Popen(command, stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    if status != 0:
        sys.exit(f"{command} failed")
    return seconds, usage.ru_maxrss / 1024


def best(command, output, times):
    return min(run(command, output) for _ in range(times))


def main():
    ours, real = (str(pathlib.Path(program).resolve()) for program in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        mine, theirs = directory / "ours.yaml", directory / "real.yaml"
        print("objects               ours s  ours MB    real s  real MB   faster  smaller  same bytes")
        for shape in (deployments, applications):
            seconds = {}
            for count in [12, *map(int, sys.argv[3:])]:
                overlay = str(write(directory / shape.__name__ / str(count), shape(count)))
                times = 20 if count < 100 else 5
                fast, small = best([ours, "kustomize", "build", overlay], mine, times)
                slow, large = best([real, "build", overlay], theirs, 20 if count < 100 else 1)
                same = mine.read_bytes() == theirs.read_bytes()
                seconds[count] = fast
                print(f"{count:7} {shape.__name__:12} {fast:7.4f} {small:8.1f} {slow:9.3f} {large:8.1f}"
                      f" {slow / fast:8.0f} {large / small:8.1f}  {same}", flush=True)
            if 1000 in seconds and 4000 in seconds:
                print(f"time(4000) / time(1000): {seconds[4000] / seconds[1000]:.1f}")


if __name__ == "__main__":
    main()
