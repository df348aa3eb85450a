/** Actions and state for the test of a scenario. */
import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { eventually } from "@dray/testing/eventually";
import { dray, getJSON, repository, type TestCluster } from "../harness.ts";

/** Folder of the scenarios. */
export const folder = join(repository, "examples", "scenarios");

export type Variables = Readonly<Record<string, string>>;

export interface Result {
  readonly request: string;
  readonly device: string;
  readonly shareID?: string;
}

export interface Claim {
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
  readonly status: {
    readonly allocation?: { readonly devices: { readonly results: readonly Result[] } };
    readonly reservedFor?: readonly { readonly name: string }[];
    readonly devices?: readonly {
      readonly device: string;
      readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
      readonly data?: Record<string, unknown>;
    }[];
  };
}

/** The means of a test for its scenario. */
export interface Play {
  readonly cluster: TestCluster;
  /** Applies the scenario, or one file of it. */
  apply(file?: string): Promise<void>;
  /** Waits until the pods run. */
  running(...pods: string[]): Promise<void>;
  phase(pod: string): Promise<string>;
  /** Waits until the scheduler has said of the pod that it finds no node. */
  unschedulable(pod: string): Promise<void>;
  /** The variables that a container has printed. */
  variables(pod: string, container?: string): Promise<Variables>;
  /** The devices that a container has. */
  devices(pod: string, container?: string): Promise<readonly string[]>;
  /** The claims of the namespace, by the pod that they were made for, else by their name. */
  claims(): Promise<ReadonlyMap<string, Claim>>;
  /** Changes the settings of the driver. */
  driver(setting: string): Promise<void>;
}

export const results = (claim: Claim | undefined): readonly Result[] =>
  claim?.status.allocation?.devices.results ?? [];

export async function evicted(cluster: TestCluster, namespace: string, pod: string): Promise<void> {
  await cluster.kubectl("wait", `-n=${namespace}`, "--for=delete", `pod/${pod}`, "--timeout=60s");
  const selector = `--field-selector=involvedObject.name=${pod},reason=DeviceTaintManagerEviction`;
  const { items } = await getJSON(cluster, "events", `-n=${namespace}`, selector);
  assert.equal(items.length, 1);
}

export function playOf(cluster: TestCluster, path: string): Play {
  const namespace = basename(path);
  const inNamespace = `-n=${namespace}`;
  const play: Play = {
    cluster,
    async apply(file) {
      await cluster.kubectl("apply", "-f", join(folder, path, file ?? ""));
    },
    async running(...pods) {
      const names = pods.map((pod) => `pod/${pod}`);
      const wait = ["wait", inNamespace, "--for=condition=Ready", "--timeout=60s", ...names];
      const { code, stderr } = await cluster.tryKubectl(wait);
      if (code === 0) return;
      assert.fail(`${stderr}\n${await cluster.kubectl("describe", "pods", inNamespace)}`);
    },
    phase: async (pod) => (await getJSON(cluster, "pod", pod, inNamespace)).status.phase,
    async unschedulable(pod) {
      await eventually(`${pod} is found to be unschedulable`, async () => {
        const { status } = await getJSON(cluster, "pod", pod, inNamespace);
        return status.conditions?.some(
          (one: { type: string; reason?: string }) =>
            one.type === "PodScheduled" && one.reason === "Unschedulable",
        );
      });
      assert.equal(await play.phase(pod), "Pending");
    },
    async variables(pod, container = "ctr0") {
      const text = await eventually(`${pod} has printed its variables`, async () => {
        const log = await cluster.kubectl("logs", inNamespace, pod, "-c", container);
        return log.includes("DRA_RESOURCE_DRIVER_NAME=") && log;
      });
      return Object.fromEntries(
        text
          .trim()
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
      );
    },
    async devices(pod, container) {
      const env = await play.variables(pod, container);
      return Object.entries(env)
        .filter(([name]) => /^GPU_DEVICE_\d+(_PARTITION_\d+|_FULL)?$/.test(name))
        .map(([, value]) => value);
    },
    async claims() {
      const { items } = (await getJSON(cluster, "resourceclaims", inNamespace)) as {
        items: (Claim & { metadata: { ownerReferences?: { name: string }[] } })[];
      };
      return new Map(
        items.map((claim) => [claim.metadata.ownerReferences?.[0]?.name ?? claim.metadata.name, claim]),
      );
    },
    async driver(setting) {
      const { code, stderr } = await dray(["up", "--data-dir", cluster.dataDir, "--driver", setting]);
      assert.equal(code, 0, stderr);
    },
  };
  return play;
}
