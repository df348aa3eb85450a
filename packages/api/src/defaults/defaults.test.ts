import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Pod } from "../generated/core/v1.ts";
import type { KubeObject } from "../index.ts";
import { podQosClass, setDefaults } from "./index.ts";

const now = "2026-01-02T03:04:05Z";

function defaulted(group: string, version: string, kind: string, object: object): Record<string, unknown> {
  const copy = { apiVersion: "", kind, metadata: { name: "x" }, ...structuredClone(object) };
  setDefaults({ group, version, kind }, copy as unknown as KubeObject, { now });
  return copy as unknown as Record<string, unknown>;
}

/** Defaults of a container and a pod's spec as kube-apiserver 1.36 sets them. */
const container = {
  name: "c",
  image: "img.example.com/app:1",
  imagePullPolicy: "IfNotPresent",
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
};
const podSpec = {
  containers: [container],
  dnsPolicy: "ClusterFirst",
  restartPolicy: "Always",
  securityContext: {},
  terminationGracePeriodSeconds: 30,
  schedulerName: "default-scheduler",
};
const template = {
  metadata: { labels: { a: "b" } },
  spec: { containers: [{ name: "c", image: container.image }] },
};
const selector = { matchLabels: { a: "b" } };

describe("resource.k8s.io", () => {
  test("requests ask for one device, tolerations compare", () => {
    const requests = [
      { name: "r", exactly: { deviceClassName: "c", tolerations: [{ key: "k" }] } },
      { name: "all", exactly: { deviceClassName: "c", allocationMode: "All" } },
      { name: "q", firstAvailable: [{ name: "s", deviceClassName: "c", count: 2 }] },
    ];
    const tolerations = [{ key: "k", operator: "Equal" }];
    const expected = [
      { name: "r", exactly: { deviceClassName: "c", tolerations, allocationMode: "ExactCount", count: 1 } },
      { name: "all", exactly: { deviceClassName: "c", allocationMode: "All" } },
      {
        name: "q",
        firstAvailable: [{ name: "s", deviceClassName: "c", count: 2, allocationMode: "ExactCount" }],
      },
    ];
    for (const version of ["v1", "v1beta2"]) {
      const claim = defaulted("resource.k8s.io", version, "ResourceClaim", {
        spec: { devices: { requests } },
      });
      assert.deepEqual(claim["spec"], { devices: { requests: expected } });
    }
    const spec = { devices: { requests } };
    const made = defaulted("resource.k8s.io", "v1", "ResourceClaimTemplate", { spec: { spec } });
    assert.deepEqual(made["spec"], { spec: { devices: { requests: expected } } });
  });
  test("in v1beta1 a request with alternatives gets none of its own", () => {
    const requests = [
      { name: "r", deviceClassName: "c" },
      { name: "q", firstAvailable: [{ name: "s", deviceClassName: "c" }] },
    ];
    const claim = defaulted("resource.k8s.io", "v1beta1", "ResourceClaim", {
      spec: { devices: { requests } },
    });
    assert.deepEqual(claim["spec"], {
      devices: {
        requests: [
          { name: "r", deviceClassName: "c", allocationMode: "ExactCount", count: 1 },
          {
            name: "q",
            firstAvailable: [{ name: "s", deviceClassName: "c", allocationMode: "ExactCount", count: 1 }],
          },
        ],
      },
    });
  });
  test("taints are stamped with the server's time, unless they have one", () => {
    const taints = [
      { key: "a", effect: "NoSchedule" },
      { key: "b", effect: "None", timeAdded: "2020-01-01T00:00:00Z" },
    ];
    const slice = defaulted("resource.k8s.io", "v1", "ResourceSlice", {
      spec: { devices: [{ name: "d", taints }] },
    });
    const [first, second] = taints;
    assert.deepEqual(slice["spec"], {
      devices: [{ name: "d", taints: [{ ...first, timeAdded: now }, second] }],
    });
  });
});

describe("pods", () => {
  test("a bare pod", () => {
    const pod = defaulted("", "v1", "Pod", { spec: { containers: [{ name: "c", image: container.image }] } });
    assert.deepEqual(pod["spec"], { ...podSpec, enableServiceLinks: true });
  });
  test("zero that was set stays", () => {
    const spec = { containers: [], terminationGracePeriodSeconds: 0, enableServiceLinks: false };
    const pod = defaulted("", "v1", "Pod", { spec }) as unknown as Pod;
    assert.equal(pod.spec.terminationGracePeriodSeconds, 0);
    assert.equal(pod.spec.enableServiceLinks, false);
  });
  test("limits are requests too, and canonical", () => {
    const resources = { limits: { cpu: "0.5", memory: "1024Mi" } };
    const pod = defaulted("", "v1", "Pod", {
      spec: { containers: [{ name: "c", resources }] },
    }) as unknown as Pod;
    const expected = { cpu: "500m", memory: "1Gi" };
    assert.deepEqual(pod.spec.containers[0]?.resources, { limits: expected, requests: expected });
  });
  const images: readonly [image: string, policy: string][] = [
    ["app", "Always"],
    ["app:latest", "Always"],
    ["registry:5000/app", "Always"],
    ["registry:5000/app:1", "IfNotPresent"],
    [`app@sha256:${"0".repeat(64)}`, "IfNotPresent"],
    ["Bad Image", "IfNotPresent"],
  ];
  for (const [image, policy] of images) {
    test(`the image ${image.slice(0, 30)} is pulled ${policy}`, () => {
      const pod = defaulted("", "v1", "Pod", {
        spec: { containers: [{ name: "c", image }] },
      }) as unknown as Pod;
      assert.equal(pod.spec.containers[0]?.imagePullPolicy, policy);
    });
  }
  test("probes, volumes and fields", () => {
    const spec = {
      containers: [
        {
          name: "c",
          livenessProbe: { grpc: { port: 1 } },
          env: [{ name: "N", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
        },
      ],
      volumes: [
        { name: "h", hostPath: { path: "/x" } },
        { name: "e" },
        { name: "s", secret: { secretName: "s" } },
      ],
    };
    const pod = defaulted("", "v1", "Pod", { spec }) as unknown as Pod;
    assert.deepEqual(pod.spec.containers[0]?.livenessProbe, {
      grpc: { port: 1, service: "" },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    });
    assert.equal(pod.spec.containers[0]?.env?.[0]?.valueFrom?.fieldRef?.apiVersion, "v1");
    assert.deepEqual(pod.spec.volumes, [
      { name: "h", hostPath: { path: "/x", type: "" } },
      { name: "e", emptyDir: {} },
      { name: "s", secret: { secretName: "s", defaultMode: 420 } },
    ]);
  });
  test("quality of service", () => {
    const qos = (...resources: object[]): string =>
      podQosClass({ spec: { containers: resources.map((each) => ({ name: "c", resources: each })) } });
    const whole = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1000m", memory: "1024Mi" } };
    assert.equal(qos({}), "BestEffort");
    assert.equal(qos(whole), "Guaranteed");
    assert.equal(qos(whole, {}), "Burstable");
    assert.equal(qos({ limits: { "example.com/gpu": "1" } }), "BestEffort");
  });
});

describe("workloads", () => {
  test("a daemon set", () => {
    const set = defaulted("apps", "v1", "DaemonSet", { spec: { selector, template } });
    assert.deepEqual(set["spec"], {
      selector,
      template: { ...template, spec: podSpec },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      revisionHistoryLimit: 10,
    });
  });
  test("a deployment, whose zero replicas stay", () => {
    const deployment = defaulted("apps", "v1", "Deployment", { spec: { selector, template, replicas: 0 } });
    assert.deepEqual(deployment["spec"], {
      replicas: 0,
      selector,
      template: { ...template, spec: podSpec },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    });
  });
});

describe("other kinds", () => {
  test("a secret's texts become its data", () => {
    const secret = defaulted("", "v1", "Secret", { stringData: { a: "é" }, data: { b: "eQ==" } });
    assert.deepEqual(secret["data"], { b: "eQ==", a: "w6k=" });
    assert.equal(secret["stringData"], undefined);
    assert.equal(secret["type"], "Opaque");
  });
  test("a binding's role and users are of the RBAC group, service accounts are not", () => {
    const subjects = [
      { kind: "User", name: "u" },
      { kind: "ServiceAccount", name: "s", namespace: "n" },
    ];
    const binding = defaulted("rbac.authorization.k8s.io", "v1", "RoleBinding", {
      roleRef: { kind: "Role", name: "r" },
      subjects,
    });
    const apiGroup = "rbac.authorization.k8s.io";
    assert.deepEqual(binding["roleRef"], { kind: "Role", name: "r", apiGroup });
    assert.deepEqual(binding["subjects"], [{ ...subjects[0], apiGroup }, subjects[1]]);
  });
  test("a service answers where it listens", () => {
    const service = defaulted("", "v1", "Service", { spec: { ports: [{ port: 80 }] } });
    assert.deepEqual(service["spec"], {
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      sessionAffinity: "None",
      type: "ClusterIP",
      internalTrafficPolicy: "Cluster",
    });
  });
});

test("a policy has its defaults in every version that serves it", () => {
  for (const version of ["v1", "v1beta1", "v1alpha1"]) {
    const { spec } = defaulted("admissionregistration.k8s.io", version, "MutatingAdmissionPolicy", {
      spec: { matchConstraints: { resourceRules: [{}] } },
    });
    assert.deepEqual(
      spec,
      {
        failurePolicy: "Fail",
        matchConstraints: {
          matchPolicy: "Equivalent",
          namespaceSelector: {},
          objectSelector: {},
          resourceRules: [{ scope: "*" }],
        },
      },
      version,
    );
  }
});
