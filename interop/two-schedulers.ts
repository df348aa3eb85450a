/**
 * Two schedulers on one API server fight for the devices of ten nodes, round after round: each has pods for
 * more than half of the devices. Afterwards every device must be in use, by one claim.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Namespace, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { program as drayProgram, environment } from "../scripts/clone.js";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { missingPeers } from "./peers.ts";
import { type Program, start } from "./processes.ts";
import { releaseFlag } from "./release.ts";

export interface TwoSchedulersOptions {
  /** How long each pair fights, at least `minRounds` rounds. */
  readonly minutes: number;
  readonly keep: boolean;
  readonly print: (text: string) => void;
}

/** Which schedulers fight, by `spec.schedulerName` of their pods: kube-scheduler is `default-scheduler`. */
interface Pair {
  readonly title: string;
  readonly schedulers: readonly [string, string];
  readonly serverFlags: readonly string[];
  /** A device that is not in use, or by two claims, fails the run; else it is only counted. */
  readonly isSafe: boolean;
}

const pairs: readonly Pair[] = [
  {
    title: "kube-scheduler and dray scheduler, UniqueDeviceAllocation",
    schedulers: ["default-scheduler", "second"],
    serverFlags: ["--enable-admission-plugins=UniqueDeviceAllocation"],
    isSafe: true,
  },
  {
    title: "two of dray scheduler",
    schedulers: ["second", "third"],
    serverFlags: [],
    isSafe: true,
  },
  {
    title: "kube-scheduler and dray scheduler",
    schedulers: ["default-scheduler", "second"],
    serverFlags: [],
    isSafe: false,
  },
];

const namespace = "two-schedulers";
const driver = "gpu.example.com";
const nodes = 10;
const devicesPerNode = 20;
const devices = nodes * devicesPerNode;
const podsPerScheduler = devices / 2 + 10;
const minRounds = 3;
/** Seconds in which all devices of a round must be in use; back-off after lost races takes most of it. */
const roundSeconds = 180;

export function twoSchedulersObstacle(): string | undefined {
  const missing = missingPeers(["kube-controller-manager", "kube-scheduler"]);
  return missing.length > 0 ? `${missing.join(", ")} missing (interop/build builds them)` : undefined;
}

/** Resolves to the number of rounds that did not end as they must. */
export async function fightForDevices(options: TwoSchedulersOptions): Promise<number> {
  let failures = 0;
  for (const pair of pairs) failures += await fight(pair, options);
  return failures;
}

async function fight(pair: Pair, { minutes, keep, print }: TwoSchedulersOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "dray-two-schedulers-"));
  const plane = await startControlPlane("dray", folder, {
    unlimited: true,
    serverFlags: pair.serverFlags,
  });
  const schedulers: Program[] = [];
  let failures = 0;
  try {
    for (const name of pair.schedulers)
      if (name !== "default-scheduler") schedulers.push(await startOurs(name, plane, folder));
    await prepare(plane.admin);
    const end = performance.now() + minutes * 60_000;
    for (let round = 0; round < minRounds || performance.now() < end; round++) {
      const outcome = await playRound(plane.admin, pair, `r${round}`);
      const failed = pair.isSafe && (outcome.used < devices || outcome.twice > 0);
      if (failed) failures++;
      const pods = pair.schedulers
        .map((name) => `${outcome.bound.get(name) ?? 0} pods of ${name}`)
        .join(", ");
      print(
        `two-schedulers: ${pair.title}: ${failed ? "FAILED: " : ""}${pods}; ${outcome.used} of ${devices} devices in use, ${outcome.twice} by two claims (${outcome.seconds.toFixed(1)} s)`,
      );
    }
  } finally {
    for (const program of schedulers) await program.stop();
    await plane.stop();
    if (keep) print(`two-schedulers: logs are in ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
  return failures;
}

async function startOurs(name: string, { users }: ControlPlane, folder: string): Promise<Program> {
  const kubeconfig = await users.kubeconfig("system:kube-scheduler");
  const flags = [`--kubeconfig=${kubeconfig}`, `--scheduler-name=${name}`, releaseFlag];
  const words = [...process.execArgv, ...(await drayProgram(["scheduler", ...flags]))];
  const env = { ...environment, ...process.env };
  return start(`dray scheduler ${name}`, [process.execPath, ...words], join(folder, `${name}.log`), env);
}

/** Nodes with their devices, and a template of a claim for one of them. */
async function prepare(admin: Client): Promise<void> {
  await admin.resource(Namespace).create({ metadata: { name: namespace }, spec: {} });
  await eventually("the namespace has its service account", () =>
    admin.resource(ServiceAccount).get({ name: "default", namespace }),
  );
  const expression = `device.driver == "${driver}"`;
  await admin.resource(DeviceClass).create({
    metadata: { name: "gpu" },
    spec: { selectors: [{ cel: { expression } }] },
  });
  await admin.resource(ResourceClaimTemplate).create({
    metadata: { name: "gpu", namespace },
    spec: { spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } } },
  });
  await Promise.all(Array.from({ length: nodes }, (_, i) => createNode(admin, `node-${i}`)));
}

async function createNode(admin: Client, name: string): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const amounts = { cpu: "64", memory: "256Gi", pods: "500" };
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "" };
  const node = await admin.resource(Node).create({ metadata: { name }, spec: {} });
  await admin.resource(Node).patch(
    { name: node.metadata.name },
    "merge",
    {
      status: {
        capacity: amounts,
        allocatable: amounts,
        conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }],
      },
    },
    { subresource: "status" },
  );
  await admin.resource(ResourceSlice).create({
    metadata: { name },
    spec: {
      driver,
      nodeName: name,
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: Array.from({ length: devicesPerNode }, (_, k) => ({ name: `gpu-${k}` })),
    },
  });
}

interface RoundOutcome {
  /** Pods with a node, by scheduler. */
  readonly bound: ReadonlyMap<string, number>;
  /** Devices that a claim has, and those that two or more have. */
  readonly used: number;
  readonly twice: number;
  readonly seconds: number;
}

/** Creates the pods of both schedulers at once, waits until the devices are in use, and removes the pods. */
async function playRound(admin: Client, { schedulers }: Pair, round: string): Promise<RoundOutcome> {
  const pods = admin.resource(Pod);
  const began = performance.now();
  await Promise.all(
    Array.from({ length: 2 * podsPerScheduler }, (_, i) =>
      pods.create({
        metadata: { namespace, name: `${round}-${i}` },
        spec: {
          schedulerName: schedulers[i % 2],
          // No kubelet says that the nodes live.
          tolerations: [{ operator: "Exists" }],
          resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpu" }],
          containers: [{ name: "main", image: "none", resources: { claims: [{ name: "gpu" }] } }],
        },
      } as never),
    ),
  );
  const boundPods = async (): Promise<Pod[]> =>
    (await pods.list({ namespace })).items.filter(({ spec }) => spec?.nodeName);
  await eventually(
    "pods are bound",
    async () => (await boundPods()).length >= devices,
    roundSeconds * 1000,
  ).catch(
    () => {}, // Unused devices are counted below.
  );
  const seconds = (performance.now() - began) / 1000;
  const bound = await boundPods();
  const holders = await claimsByDevice(admin);
  await removePods(admin);
  return {
    bound: new Map(
      [...Map.groupBy(bound, ({ spec }) => spec!.schedulerName!)].map(([name, { length }]) => [name, length]),
    ),
    used: holders.size,
    twice: [...holders.values()].filter((claims) => claims > 1).length,
    seconds,
  };
}

/** How many claims have each device. */
async function claimsByDevice(admin: Client): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { status } of (await admin.resource(ResourceClaim).list({ namespace })).items) {
    for (const { pool, device } of status?.allocation?.devices?.results ?? []) {
      const name = `${pool}/${device}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

async function removePods(admin: Client): Promise<void> {
  await admin.resource(Pod).deleteCollection({ namespace }, { gracePeriodSeconds: 0 });
  await eventually("pods and claims are gone", async () => {
    const left = await Promise.all([
      admin.resource(Pod).list({ namespace }),
      admin.resource(ResourceClaim).list({ namespace }),
    ]);
    return left.every(({ items }) => items.length === 0);
  });
}
