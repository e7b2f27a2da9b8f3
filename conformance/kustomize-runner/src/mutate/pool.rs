//! Objects of our own that mutations add to trees.

/// A name for each, and its text.
pub(crate) const OBJECTS: [(&str, &str); 12] = [
    (
        "deployment",
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: added
  labels:
    app: added
spec:
  replicas: 2
  selector:
    matchLabels:
      app: added
  template:
    metadata:
      labels:
        app: added
    spec:
      serviceAccountName: added
      containers:
      - name: main
        image: nginx:1.25
        args: [\"--level\", \"3\"]
        env:
        - name: MODE
          value: \"on\"
        - name: KEY
          valueFrom:
            secretKeyRef:
              name: settings
              key: a
        ports:
        - containerPort: 80
          protocol: TCP
        - containerPort: 80
          protocol: UDP
        volumeMounts:
        - name: config
          mountPath: /etc/config
      volumes:
      - name: config
        configMap:
          name: settings
",
    ),
    (
        "service",
        "apiVersion: v1
kind: Service
metadata:
  name: added
spec:
  selector:
    app: added
  ports:
  - port: 80
    targetPort: 8080
",
    ),
    (
        "config-map",
        "apiVersion: v1
kind: ConfigMap
metadata:
  name: added
  annotations:
    note: \"1.0\"
data:
  plain: text
  quoted: \"yes\"
  block: |
    first
      second
  folded: >-
    one
    two
  json: '{\"a\": {\"b\": [1, 2]}}'
",
    ),
    (
        "rbac",
        "apiVersion: v1
kind: ServiceAccount
metadata:
  name: added
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: added
rules:
- apiGroups: [\"\"]
  resources: [\"configmaps\"]
  resourceNames: [\"settings\"]
  verbs: [\"get\"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: added
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: added
subjects:
- kind: ServiceAccount
  name: added
- kind: ServiceAccount
  name: default
  namespace: default
",
    ),
    (
        "cluster-role",
        "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: added
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: added
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: added
subjects:
- kind: ServiceAccount
  name: added
  namespace: apps
",
    ),
    (
        "custom",
        "apiVersion: example.com/v1
kind: Widget
metadata:
  name: added
spec:
  size: 3
  image: nginx:1.25
  configName: settings
  parts:
  - name: one
    value: 1
  - name: two
    value: 0.5
",
    ),
    (
        "definition",
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.example.com
spec:
  group: example.com
  names:
    kind: Gadget
    plural: gadgets
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
",
    ),
    (
        "cron-job",
        "apiVersion: batch/v1
kind: CronJob
metadata:
  name: added
spec:
  schedule: \"0 3 * * *\"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: job
            image: busybox
            envFrom:
            - configMapRef:
                name: settings
",
    ),
    (
        "ingress",
        "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: added
spec:
  tls:
  - hosts: [a.example.com]
    secretName: settings
  rules:
  - host: a.example.com
    http:
      paths:
      - path: /
        pathType: Prefix
        backend:
          service:
            name: added
            port:
              number: 80
",
    ),
    (
        "stateful-set",
        "apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: added
spec:
  serviceName: added
  selector:
    matchLabels: {app: stateful}
  template:
    metadata:
      labels: {app: stateful}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector:
              matchLabels:
                app: stateful
            topologyKey: kubernetes.io/hostname
      initContainers:
      - name: init
        image: busybox:1
      containers:
      - name: main
        image: redis@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3
  volumeClaimTemplates:
  - metadata:
      name: data
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests:
          storage: 1Gi
",
    ),
    (
        "autoscaler",
        "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: added
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: added
  minReplicas: 1
  maxReplicas: 3
",
    ),
    (
        "local",
        "apiVersion: v1
kind: ConfigMap
metadata:
  name: only-here
  namespace: apps
  annotations:
    config.kubernetes.io/local-config: \"true\"
data:
  a: b
---
apiVersion: v1
kind: Namespace
metadata:
  name: apps
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: added
spec:
  podSelector:
    matchLabels:
      app: added
  ingress:
  - from:
    - podSelector:
        matchLabels:
          app: other
",
    ),
];
