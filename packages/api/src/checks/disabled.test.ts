import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { featuresOf, type KubernetesVersion, parseFeatureGates } from "../features/features.ts";
import type { KubeObject } from "../objects/object.ts";
import { disabledFields, dropDisabledFields } from "./disabled.ts";

interface Case {
  readonly kind: string;
  readonly given: object;
  /** By release and gates, where fields are dropped. */
  readonly left: Readonly<Record<string, object>>;
  /** Releases and gates that keep everything. */
  readonly kept: readonly string[];
}

const mode = { volumes: [{ name: "v", emptyDir: { mode: 0o700 } }] };
const probe = (httpGet: object, grpc: object): object => ({
  containers: [
    { name: "c", readinessProbe: { httpGet }, livenessProbe: { grpc } },
    { name: "d", lifecycle: { preStop: { httpGet } } },
  ],
});
const rules = [{ action: "Restart" }];
const policies = (first: object, second: object): object => ({
  initContainers: [{ name: "sidecar", restartPolicy: "Always" }, first],
  containers: [second],
});
const user = { secret: { secretName: "s", defaultUser: 1000, items: [{ key: "k", path: "p", user: 1 }] } };

/** Upstream: pkg/api/pod/util.go, dropDisabledFields; the strategies of the other kinds */
const cases: Readonly<Record<string, Case>> = {
  "mode of emptyDir": {
    kind: "v1 Pod",
    given: mode,
    left: { "1.37": { volumes: [{ name: "v", emptyDir: {} }] } },
    kept: ["1.37 EmptyDirVolumeMode=true"],
  },
  "volumes from images, with their mounts": {
    kind: "v1 Pod",
    given: {
      volumes: [
        { name: "i", image: { reference: "r" } },
        { name: "e", emptyDir: {} },
      ],
      initContainers: [{ name: "a", volumeMounts: [{ name: "i", mountPath: "/i" }] }],
      containers: [
        {
          name: "c",
          volumeMounts: [
            { name: "e", mountPath: "/e" },
            { name: "i", mountPath: "/i" },
          ],
        },
      ],
    },
    left: Object.fromEntries(
      ["1.34", "1.35 ImageVolume=false"].map((features) => [
        features,
        {
          volumes: [{ name: "e", emptyDir: {} }],
          initContainers: [{ name: "a" }],
          containers: [{ name: "c", volumeMounts: [{ name: "e", mountPath: "/e" }] }],
        },
      ]),
    ),
    kept: ["1.34 ImageVolume=true", "1.35", "1.36", "1.37"],
  },
  "users of files": {
    kind: "v1 Pod",
    given: { volumes: [{ name: "v", ...user }] },
    left: {
      "1.37": { volumes: [{ name: "v", secret: { secretName: "s", items: [{ key: "k", path: "p" }] } }] },
    },
    kept: ["1.37 AtomicWriteVolumeUserFields=true"],
  },
  "protocols of probes": {
    kind: "v1 Pod",
    given: probe({ port: 1, protocol: "H2C" }, { port: 1, mode: "TLS" }),
    left: {
      "1.37": probe({ port: 1 }, { port: 1 }),
      "1.37 H2CContainerProbe=true": probe({ port: 1, protocol: "H2C" }, { port: 1 }),
    },
    kept: ["1.37 H2CContainerProbe=true,GRPCContainerProbeTLS=true"],
  },
  "restart policies of containers that are no sidecars": {
    kind: "v1 Pod",
    given: policies(
      { name: "i", restartPolicy: "Never" },
      { name: "c", restartPolicy: "OnFailure", restartPolicyRules: rules },
    ),
    left: { "1.34": policies({ name: "i" }, { name: "c" }) },
    kept: ["1.35", "1.37", "1.34 ContainerRestartRules=true"],
  },
  "a stop signal, with the lifecycle that has nothing else": {
    kind: "v1 Pod",
    given: {
      containers: [
        { name: "c", lifecycle: { stopSignal: "SIGUSR1" } },
        { name: "d", lifecycle: { stopSignal: "SIGUSR1", preStop: { sleep: { seconds: 1 } } } },
      ],
    },
    left: {
      "1.37": {
        containers: [{ name: "c" }, { name: "d", lifecycle: { preStop: { sleep: { seconds: 1 } } } }],
      },
    },
    kept: ["1.37 ContainerStopSignals=true"],
  },
  "the name of a host, users of the host": {
    kind: "v1 Pod",
    given: { hostnameOverride: "h", hostUsers: false },
    left: { "1.34": { hostUsers: false }, "1.35 UserNamespacesSupport=false": { hostnameOverride: "h" } },
    kept: ["1.35", "1.37"],
  },
  "a data source in another namespace": {
    kind: "v1 PersistentVolumeClaim",
    given: { dataSourceRef: { kind: "VolumeSnapshot", name: "s", namespace: "other" } },
    left: { "1.37": {} },
    kept: ["1.37 CrossNamespaceVolumeDataSource=true"],
  },
  "a data source of a template": {
    kind: "apps/v1 StatefulSet",
    given: { volumeClaimTemplates: [{ spec: { dataSourceRef: { namespace: "other" } } }] },
    left: {},
    kept: ["1.37"],
  },
  "pods that may be missing in a rolling update": {
    kind: "apps/v1 StatefulSet",
    given: { updateStrategy: { rollingUpdate: { maxUnavailable: 2 } } },
    left: {
      "1.36": { updateStrategy: { rollingUpdate: {} } },
      "1.37 MaxUnavailableStatefulSet=false": { updateStrategy: { rollingUpdate: {} } },
    },
    kept: ["1.37", "1.35 MaxUnavailableStatefulSet=true"],
  },
  "the tolerance of an autoscaler": {
    kind: "autoscaling/v2 HorizontalPodAutoscaler",
    given: { behavior: { scaleUp: { tolerance: "100m" } } },
    left: { "1.34": { behavior: { scaleUp: {} } } },
    kept: ["1.35", "1.34 HPAConfigurableTolerance=true"],
  },
  "policies of composite groups in composite groups": {
    kind: "scheduling.k8s.io/v1alpha3 Workload",
    given: {
      compositePodGroupTemplates: [
        {
          name: "a",
          preemptionPolicy: "Never",
          compositePodGroupTemplates: [{ name: "b", preemptionPolicy: "Never" }],
        },
      ],
    },
    left: {
      "1.37 GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true": {
        compositePodGroupTemplates: [{ name: "a", compositePodGroupTemplates: [{ name: "b" }] }],
      },
      "1.37": {},
    },
    kept: [],
  },
};

const featuresIn = (text: string) => {
  const [version, gates = ""] = text.split(" ");
  return featuresOf(version as KubernetesVersion, parseFeatureGates(gates));
};

describe("dropDisabledFields", () => {
  for (const [title, { kind: text, given, left, kept }] of Object.entries(cases)) {
    const [apiVersion = "", kind = ""] = text.split(" ");
    const [version = "", group = ""] = apiVersion.split("/").reverse();
    const address = { group, version, kind };
    const objectOf = (spec: object) =>
      ({ apiVersion, kind, spec }) as unknown as KubeObject & { spec: object };
    const dropped = (features: string, old?: object): object => {
      const object = objectOf(structuredClone(given));
      dropDisabledFields(address, object, old && objectOf(old), { features: featuresIn(features) });
      return object.spec;
    };
    test(title, () => {
      for (const [features, spec] of Object.entries(left)) {
        assert.deepEqual(dropped(features), spec, features);
        assert.ok(disabledFields(address, objectOf(given), { features: featuresIn(features) }).length > 0);
        assert.deepEqual(dropped(features, given), given, `in use in ${features}`);
      }
      for (const features of kept) assert.deepEqual(dropped(features), given, features);
    });
  }

  test("the sidecar of a stored pod does not use the policies of other containers", () => {
    const pod = (container: object) =>
      ({
        spec: { initContainers: [{ name: "s", restartPolicy: "Always" }, container] },
      }) as unknown as KubeObject;
    const object = pod({ name: "i", restartPolicy: "Never" });
    const address = { group: "", version: "v1", kind: "Pod" };
    dropDisabledFields(address, object, pod({ name: "i" }), { features: featuresOf("1.34") });
    assert.deepEqual(object, pod({ name: "i" }));
  });
});
