/** Objects to plan with, and the command that plans. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { dray, inFolder, type Output } from "../testing/program.ts";

export type Manifest = Readonly<Record<string, unknown>>;

export const node = (
  name: string,
  more: { spec?: object; labels?: object; allocatable?: object } = {},
): Manifest => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, labels: { "kubernetes.io/hostname": name, ...more.labels } },
  spec: more.spec ?? {},
  status: { allocatable: { cpu: "8", memory: "32Gi", pods: "110", ...more.allocatable } },
});

const gpu = (index: number): object => ({
  name: `gpu-${index}`,
  attributes: { model: { string: "a100" }, index: { int: index } },
  capacity: { memory: { value: "80Gi" } },
});

/** The GPUs of a node: a number, or devices. */
export const slice = (
  nodeName: string,
  devices: number | readonly object[],
  pool: object = {},
  name = `${nodeName}-gpus`,
): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name },
  spec: {
    driver: "gpu.example.com",
    nodeName,
    pool: { name: nodeName, generation: 1, resourceSliceCount: 1, ...pool },
    devices: typeof devices === "number" ? Array.from({ length: devices }, (_, i) => gpu(i)) : devices,
  },
});

export const gpuClass: Manifest = {
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: { name: "gpu" },
  spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] },
};

const requests = (exactly: object): object => ({
  devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", ...exactly } }] },
});

export const claim = (name: string, exactly: object = {}, more: object = {}): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: { name },
  spec: requests(exactly),
  ...more,
});

export const template = (name: string, exactly: object = {}): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaimTemplate",
  metadata: { name },
  spec: { spec: requests(exactly) },
});

/** An allocation of those devices of a node. */
export const allocation = (nodeName: string, ...devices: readonly string[]): object => ({
  devices: {
    results: devices.map((device) => ({ request: "gpu", driver: "gpu.example.com", pool: nodeName, device })),
  },
  nodeSelector: {
    nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [nodeName] }] }],
  },
});

/** A container that uses the claim `gpu` of the pod. */
const podSpec = (more: object = {}, resources: object = {}): Record<string, unknown> => ({
  containers: [{ name: "main", image: "main:v1", resources: { claims: [{ name: "gpu" }], ...resources } }],
  ...more,
});

export const pod = (name: string, spec: object, metadata: object = {}, more: object = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec,
  ...more,
});

export const usesClaim = (resourceClaimName: string, more: object = {}): object =>
  podSpec({ resourceClaims: [{ name: "gpu", resourceClaimName }], ...more });
export const usesTemplate = (resourceClaimTemplateName: string, more: object = {}): object =>
  podSpec({ resourceClaims: [{ name: "gpu", resourceClaimTemplateName }], ...more });
/** A pod without claims. */
export const plain = (more: object = {}, resources: object = {}): object => ({
  containers: [{ name: "main", image: "main:v1", resources }],
  ...more,
});

/** Output of `-o json`. */
export interface PlanData {
  readonly pods: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly status: string;
    readonly node: string | null;
    readonly claims: readonly { name: string; podClaim: string | null; allocation: unknown }[];
    readonly claimResources: Readonly<Record<string, string>>;
    readonly reason: string | null;
    readonly hints: readonly string[];
    readonly explanation: unknown;
  }[];
  readonly summary: {
    readonly nodes: number;
    readonly placed: number;
    readonly running: number;
    readonly bound: number;
    readonly unplaced: number;
    readonly pending: number;
    readonly refused: number;
    readonly leftOut: number;
    readonly warnings: readonly string[];
    readonly errors: readonly {
      readonly rule: string;
      readonly file: string;
      readonly document?: number;
      readonly item?: number;
      readonly line?: number;
      readonly object?: string;
      readonly path?: string;
      readonly message: string;
      readonly hints?: readonly string[];
    }[];
    readonly addedNodes?: {
      readonly like: string;
      readonly count: number;
      readonly fewest?: { readonly count: number; readonly isProven: boolean };
      readonly notHelped?: readonly { readonly pod: string; readonly reason: string }[];
    };
  };
}

export interface Planned extends Output {
  readonly data: PlanData;
  /** Nodes by pod name. */
  readonly nodes: Readonly<Record<string, string | null>>;
  /** `pool/device` of the claims, by pod name. */
  readonly devices: Readonly<Record<string, readonly string[]>>;
}

/** Runs the command on a file with these objects as a list of `kubectl get -o json`. */
export async function planFile(objects: readonly Manifest[], ...flags: string[]): Promise<Output> {
  let output: Output | undefined;
  await inFolder(async (folder) => {
    const file = join(folder, "objects.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    output = await dray(["plan", "-f", file, ...flags]);
  });
  return output!;
}

/** `planFile`, with the result as data. */
export async function planned(objects: readonly Manifest[], ...flags: string[]): Promise<Planned> {
  const output = await planFile(objects, "-o", "json", ...flags);
  if (output.stdout === "") throw new Error(`no plan: ${output.stderr}`);
  const data = JSON.parse(output.stdout) as PlanData;
  const devicesOf = ({ allocation }: { allocation: unknown }): string[] =>
    (
      (allocation as { devices?: { results?: { pool: string; device: string }[] } } | null)?.devices
        ?.results ?? []
    ).map(({ pool, device }) => `${pool}/${device}`);
  return {
    ...output,
    data,
    nodes: Object.fromEntries(data.pods.map((each) => [each.name, each.node])),
    devices: Object.fromEntries(data.pods.map((each) => [each.name, each.claims.flatMap(devicesOf)])),
  };
}
