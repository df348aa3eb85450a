import type { ConfigMap, Pod, PodSpec } from "@dray/api/core/v1";
import type { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import type { Random } from "@dray/testing/random";

export const namespace = "chaos";
export const exampleClass = "gpu.example.com";
export const hostileClass = "hostile.example.com";

/** Exit codes of containers that saw what must never be; the pods' programs use no others of this range. */
export const startedUnprepared = 71;

/**
 * Ends the program at once, with a code that nothing else has, if its container started without its devices.
 */
const needsDevices = `env | grep -q '^GPU_DEVICE_[0-9]*=' || exit ${startedUnprepared}; `;
const needsHostile = `[ -n "$HOSTILE" ] || exit ${startedUnprepared}; `;
const untilTerm = "trap 'exit 0' TERM; sleep 99999 & wait";

/** Claims that several pods share, and what templates and pods refer to: there from the beginning. */
export const fixtures: {
  readonly claims: readonly ResourceClaim[];
  readonly templates: readonly ResourceClaimTemplate[];
  readonly configMap: ConfigMap;
} = {
  claims: Array.from({ length: 3 }, (_, i) => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: `shared-${i}`, namespace },
    spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: exampleClass } }] } },
  })) as unknown as ResourceClaim[],
  templates: [
    template("one", [{ name: "gpu", exactly: { deviceClassName: exampleClass } }]),
    template("two", [{ name: "gpu", exactly: { deviceClassName: exampleClass, count: 2 } }]),
    template("either", [
      {
        name: "gpu",
        firstAvailable: [
          { name: "many", deviceClassName: exampleClass, count: 4 },
          { name: "few", deviceClassName: exampleClass },
        ],
      },
    ]),
    template("none", [
      {
        name: "gpu",
        exactly: { deviceClassName: exampleClass, selectors: [{ cel: { expression: "false" } }] },
      },
    ]),
    template("hostile", [{ name: "gpu", exactly: { deviceClassName: hostileClass } }]),
  ],
  configMap: {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace },
    data: { "a.conf": "a=1\n", "b.conf": "b=2\n" },
  } as unknown as ConfigMap,
};

function template(name: string, requests: readonly object[]): ResourceClaimTemplate {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: { name, namespace },
    spec: { spec: { devices: { requests } } },
  } as unknown as ResourceClaimTemplate;
}

type Container = PodSpec["containers"][number];

function container(name: string, script: string, more: Partial<Container> = {}): Container {
  return { name, image: "host", command: ["/bin/sh", "-c", script], ...more } as Container;
}

function withTemplate(name: string, script = needsDevices + untilTerm): Partial<PodSpec> {
  return {
    resourceClaims: [{ name: "gpu", resourceClaimTemplateName: name }],
    containers: [container("main", script, { resources: { claims: [{ name: "gpu" }] } })],
  };
}

/** Makes the spec of a pod of one kind. */
type Make = (random: Random) => Partial<PodSpec>;

/** Every kind of pod, by name. */
const kinds: Readonly<Record<string, Make>> = {
  plain: () => ({ containers: [container("main", untilTerm)] }),
  claim: () => withTemplate("one"),
  "two devices": () => withTemplate("two"),
  "first available": () => withTemplate("either"),
  "shared claim": (random) => ({
    ...withTemplate("one"),
    resourceClaims: [{ name: "gpu", resourceClaimName: `shared-${random.below(3)}` }],
  }),
  unsatisfiable: () => withTemplate("none"),
  "hostile driver": () => withTemplate("hostile", needsHostile + untilTerm),
  job: (random) => ({
    ...withTemplate("one", `${needsDevices}exit ${random.below(2)}`),
    restartPolicy: "Never",
  }),
  crashes: () => ({ ...withTemplate("one", `${needsDevices}sleep 0.2; exit 3`), restartPolicy: "OnFailure" }),
  "init and sidecar": () => ({
    ...withTemplate("one"),
    initContainers: [
      container("first", "exit 0"),
      container("sidecar", untilTerm, { restartPolicy: "Always" }),
      container("second", `${needsDevices}exit 0`, { resources: { claims: [{ name: "gpu" }] } }),
    ],
  }),
  "ignores SIGTERM": () => ({
    ...withTemplate("one", `${needsDevices}trap '' TERM; while :; do sleep 1; done`),
    terminationGracePeriodSeconds: 1,
  }),
  hooks: () => ({
    terminationGracePeriodSeconds: 2,
    containers: [
      container("main", untilTerm, {
        lifecycle: {
          postStart: { exec: { command: ["/bin/sh", "-c", "exit 0"] } },
          preStop: { exec: { command: ["/bin/sh", "-c", "sleep 60"] } },
        },
      }),
    ],
  }),
  "hook fails": () => ({
    containers: [
      container("main", untilTerm, { lifecycle: { postStart: { exec: { command: ["/bin/false"] } } } }),
    ],
  }),
  probes: () => ({
    containers: [
      container("main", untilTerm, {
        readinessProbe: { exec: { command: ["/bin/true"] }, periodSeconds: 1 },
        livenessProbe: {
          exec: { command: ["/bin/sh", "-c", "[ $(($(date +%s) % 7)) != 0 ]"] },
          periodSeconds: 1,
        },
      } as Partial<Container>),
    ],
  }),
  "no such program": () => ({ containers: [container("main", "", { command: ["/no/such/program"] })] }),
  "no such image": () => ({ containers: [{ name: "main", image: "nobody/has:this" } as Container] }),
  "no such config map": () => ({
    volumes: [{ name: "v", configMap: { name: "missing" } }],
    containers: [container("main", untilTerm, { volumeMounts: [{ name: "v", mountPath: "/v" }] })],
  }),
  volumes: () => ({
    volumes: [
      { name: "scratch", emptyDir: {} },
      { name: "settings", configMap: { name: "settings" } },
    ],
    containers: [
      container("main", `[ "$(cat /settings/a.conf)" = a=1 ] || exit 1; ln -s / /scratch/out; ${untilTerm}`, {
        volumeMounts: [
          { name: "scratch", mountPath: "/scratch" },
          { name: "scratch", mountPath: "/part", subPath: "part" },
          { name: "settings", mountPath: "/settings" },
        ],
      }),
    ],
  }),
  // As the volume of the one before: the link that it made leads out of a sub path.
  "sub path by a link": () => ({
    volumes: [{ name: "scratch", emptyDir: {} }],
    initContainers: [
      container("link", "ln -sfn /tmp /scratch/out", {
        volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
      }),
    ],
    containers: [
      container("main", untilTerm, {
        volumeMounts: [{ name: "scratch", mountPath: "/part", subPath: "out/dray-chaos-must-not-be" }],
      }),
    ],
  }),
  "leaves its session": () => ({
    containers: [container("main", `(setsid env -i /bin/sleep ${escapeSeconds} &) ; ${untilTerm}`)],
  }),
  "odd environment": () => ({
    containers: [
      container("main", `[ "$root" = r ] || exit 1; ${untilTerm}`, {
        env: [
          { name: "root", value: "r" },
          { name: "table", value: "t" },
          { name: "with.dot", value: "1" },
          { name: "LD_PRELOAD", value: "" },
        ],
      }),
    ],
  }),
};

/** On the command lines of processes that left their pods, of this run. */
export const escapeSeconds = `77777.${process.pid}`;

/** A pod of any kind, on any node but the named ones. */
export function makePod(random: Random, number: number, otherNodes: readonly string[]): Pod {
  const kind = random.pick(Object.keys(kinds));
  const name = `pod-${number}`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { kind: kind.replaceAll(/\W/g, "-") } },
    spec: {
      terminationGracePeriodSeconds: 5,
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: "kubernetes.io/hostname", operator: "NotIn", values: [...otherNodes] },
                ],
              },
            ],
          },
        },
      },
      ...kinds[kind]!(random),
    },
  } as unknown as Pod;
}

/** A pod with a device on a node that nobody disturbs: it has to run, whatever happens to the others. */
export function makeCanary(number: number, nodeName: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `canary-${number}`, namespace },
    spec: {
      terminationGracePeriodSeconds: 5,
      nodeSelector: { "kubernetes.io/hostname": nodeName },
      ...withTemplate("one"),
    },
  } as unknown as Pod;
}
