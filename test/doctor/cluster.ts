/** A cluster with faults, made of the manifests of doctor's own tests, and the commands of the user. */
import { apiVersionOf, featuresOf, type KubeObject } from "@dray/api";
import { Namespace, Pod } from "@dray/api/core/v1";
import { kindRows } from "@dray/api/schema";
import { type Client, systemClock } from "@dray/client";
import { startControllers } from "@dray/controllers";
import { diagnose } from "../../packages/dray/src/doctor/doctor.ts";
import type { Finding } from "../../packages/dray/src/doctor/finding.ts";
import { doctorKinds } from "../../packages/dray/src/doctor/read.ts";
import { ruleIds } from "../../packages/dray/src/doctor/rules.ts";
import { readLive } from "../../packages/dray/src/manifests/live.ts";
import { World } from "../../packages/dray/src/manifests/world.ts";
import type { Manifest } from "../../packages/dray/src/plan/testing.ts";
import { type KubectlServer, startKubectlServer } from "../kubectl/harness.ts";

const features = featuresOf("1.37");

/** Time that has passed since the cluster was made: what should be gone soon is still there. */
const later = 5 * 60_000;

export interface FaultyCluster {
  readonly shell: KubectlServer["shell"];
  /** Returns what doctor finds. */
  findings(): Promise<readonly Finding[]>;
  /** Lets the controllers that take back claims begin, which did not run so far. */
  startClaimControllers(): Promise<void>;
  close(): Promise<void>;
}

/** Objects that others name are made first. */
const order = ["Namespace", "Node", "DeviceClass", "ResourceSlice", "DaemonSet", "Pod"];

/** Makes a cluster. Uids of pods and sets in manifests stand for those that the server gives. */
export async function faultyCluster(objects: readonly Manifest[]): Promise<FaultyCluster> {
  const server = await startKubectlServer({
    kubernetesVersion: "1.37",
    disabledAdmissionPlugins: ["ServiceAccount", "TaintNodesByCondition", "Priority"],
  });
  const { admin } = server;
  const stop = new AbortController();
  try {
    await make(admin, objects);
  } catch (error) {
    await server.close();
    throw error;
  }
  const kubelet = endPods(admin, stop.signal);
  const running: Promise<unknown>[] = [kubelet];
  return {
    shell: (line) => server.shell(line),
    async findings() {
      const connection = { client: admin, namespace: "default", context: "test", server: "" } as never;
      const { objects: all } = await readLive(connection, "default", features, new Set(doctorKinds));
      const versions = { release: "1.37", served: ["v1"], taintRules: "v1" };
      const now = systemClock.now() + later;
      const world = new World(all);
      return diagnose({ world, features, now, server: versions }, new Set(ruleIds)).findings;
    },
    async startClaimControllers() {
      const { stopped } = await startControllers({
        ...{ client: admin, clock: systemClock, random: () => 0.5, features, rootCA: "" },
        log: { debug() {}, info() {}, warn() {}, error() {} } as never,
        signal: stop.signal,
        controllers: ["resourceclaim-controller", "garbage-collector-controller"],
      });
      running.push(stopped);
    },
    async close() {
      stop.abort();
      await Promise.all(running);
      await server.close();
    },
  };
}

async function make(admin: Client, objects: readonly Manifest[]): Promise<void> {
  const uids = new Map<string, string>();
  const rank = ({ kind }: Manifest): number => order.indexOf(String(kind)) + 1 || order.length + 1;
  await admin.resource(Namespace).create({ metadata: { name: "gpu-system" }, spec: {} });
  const deleted: [(typeof kindRows)[number], KubeObject["metadata"]][] = [];
  for (const manifest of objects.toSorted((a, b) => rank(a) - rank(b))) {
    const text = JSON.stringify(manifest).replace(/"uid":"([^"]+)"/g, (all, uid: string) =>
      uids.has(uid) ? `"uid":"${uids.get(uid)}"` : all,
    );
    const { status, ...object } = JSON.parse(text) as KubeObject & { status?: object };
    const row = kindRows.find(
      (each) => each.kind === object.kind && apiVersionOf(each) === object.apiVersion,
    )!;
    const {
      uid,
      deletionTimestamp,
      deletionGracePeriodSeconds: _,
      ...given
    } = object.metadata as {
      uid?: string;
      deletionTimestamp?: string;
      deletionGracePeriodSeconds?: number;
      name: string;
      namespace?: string;
    };
    const metadata = { ...given, ...(row.namespaced && { namespace: given.namespace ?? "default" }) };
    const made = await admin.resource(row).create({ ...object, metadata } as never);
    if (uid !== undefined) uids.set(uid, made.metadata.uid);
    if (status !== undefined)
      await admin.resource(row).update({ ...made, status } as never, { subresource: "status" });
    if (deletionTimestamp !== undefined) deleted.push([row, made.metadata]);
  }
  for (const [row, { namespace, name }] of deleted)
    await admin.resource(row).delete({ name, ...(namespace !== undefined && { namespace }) });
}

/** Stands for the kubelets: ends each pod that is deleted from now on. */
async function endPods(admin: Client, signal: AbortSignal): Promise<void> {
  const pods = admin.resource(Pod);
  const { resourceVersion } = await pods.list({});
  try {
    for await (const event of pods.watch({ resourceVersion }, { signal })) {
      if (event.type !== "MODIFIED") continue;
      const { deletionTimestamp, namespace, name } = event.object.metadata;
      if (deletionTimestamp === undefined || event.object.metadata.finalizers?.length) continue;
      await pods.delete({ namespace, name }, { gracePeriodSeconds: 0 }).catch(() => undefined);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
