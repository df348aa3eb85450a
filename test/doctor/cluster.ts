/** A cluster with faults, made of the manifests of doctor's own tests, and the commands of the user. */
import { apiVersionOf, featuresOf, type KubeObject, StatusError } from "@dray/api";
import { Namespace, Pod } from "@dray/api/core/v1";
import { kindRows } from "@dray/api/schema";
import { type Client, systemClock } from "@dray/client";
import { startControllers } from "@dray/controllers";
import { targetNode } from "@dray/controllers/objects";
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
  /** Lets controllers begin, which did not run so far. */
  startControllers(...names: readonly string[]): Promise<void>;
  readonly admin: Client;
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
  const kubelet = followPods(admin, stop.signal);
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
    admin,
    async startControllers(...names) {
      const { stopped } = await startControllers({
        ...{ client: admin, clock: systemClock, random: () => 0.5, features, rootCA: "" },
        log: { debug() {}, info() {}, warn() {}, error() {} } as never,
        signal: stop.signal,
        controllers: names,
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

/** Images that the stand-in for kubelets does not find. */
export const missingImage = "plugin:missing";

/**
 * Stands for the scheduler and the kubelets: from now on binds and starts pods of DaemonSets, and ends each
 * pod that is deleted.
 */
async function followPods(admin: Client, signal: AbortSignal): Promise<void> {
  const pods = admin.resource(Pod);
  const { resourceVersion } = await pods.list({});
  try {
    for await (const event of pods.watch({ resourceVersion }, { signal })) {
      if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
      const { deletionTimestamp, namespace, name, finalizers } = event.object.metadata;
      if (deletionTimestamp !== undefined) {
        if (finalizers?.length) continue;
        await pods.delete({ namespace, name }, { gracePeriodSeconds: 0 }).catch(() => undefined);
      } else if (event.type === "ADDED") {
        // A rollout may delete the pod meanwhile.
        await startDaemon(admin, event.object).catch((error: unknown) => {
          if (!StatusError.is(error, "NotFound")) throw error;
        });
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function startDaemon(admin: Client, pod: Pod): Promise<void> {
  const node = targetNode(pod);
  if (pod.spec.nodeName || node === undefined) return;
  const { namespace, name } = pod.metadata;
  const binding = {
    ...{ apiVersion: "v1", kind: "Binding", metadata: { namespace, name } },
    target: { kind: "Node", name: node },
  };
  await admin.resource(Pod).post({ namespace, name }, "binding", binding);
  const isMissing = pod.spec.containers[0]?.image === missingImage;
  const state = isMissing
    ? { waiting: { reason: "ErrImagePull", message: `no such image: ${missingImage}` } }
    : { running: { startedAt: pod.metadata.creationTimestamp } };
  const ready = { type: "Ready", status: isMissing ? "False" : "True" };
  const container = {
    name: "plugin",
    image: "plugin",
    imageID: "",
    restartCount: 0,
    ready: !isMissing,
    state,
  };
  const status = {
    phase: isMissing ? "Pending" : "Running",
    conditions: [{ ...ready, lastTransitionTime: pod.metadata.creationTimestamp }],
    containerStatuses: [container],
  };
  await admin.resource(Pod).patch({ namespace, name }, "merge", { status }, { subresource: "status" });
}
