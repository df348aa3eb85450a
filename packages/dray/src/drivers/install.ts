import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { KubeObject } from "@dray/api";
import { DaemonSet } from "@dray/api/apps/v1";
import { Node } from "@dray/api/core/v1";
import { type Device, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { namesText, ProgressDeadline } from "@dray/cluster";
import { simulatedLabel } from "@dray/kubelet/simulated";
import { parseAllDocuments } from "yaml";
import { kindByApiVersion } from "../manifests/kinds.ts";
import { counted } from "../text/words.ts";
import type { ChosenDriver } from "./drivers.ts";
import { examplesFolder } from "./examples.ts";
import type { Installation } from "./known.ts";
import { unreadyReasons } from "./unready-pods.ts";

/** Milliseconds that the next node may take until it has the driver's devices. */
const timeout = 60_000;

/**
 * Applies the manifests of a driver, and waits until every ready node has its devices. Applying it again
 * updates differences. Calls `update` with the progress, and `provideImages` before images are needed.
 */
export async function installDriver(
  client: Client,
  driver: ChosenDriver,
  update: (text: string) => void,
  provideImages: (names: readonly string[]) => Promise<void>,
): Promise<void> {
  update(`Installing the driver ${driver.name}`);
  try {
    const objects = manifests(driver.installation);
    await provideImages(objects.flatMap(({ object }) => imagesOf(object)));
    for (const { file, object } of objects) await apply(client, file, object);
    await published(client, driver.installation, update);
  } catch (error) {
    throw new Error(`driver ${driver.name}: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns the images of a workload's containers; other objects have no images. */
function imagesOf(object: KubeObject): string[] {
  const { template } = (object as KubeObject & Partial<DaemonSet>).spec ?? {};
  return (template?.spec?.containers ?? []).flatMap(({ image }) => (image === undefined ? [] : [image]));
}

async function apply(client: Client, file: string, object: KubeObject): Promise<void> {
  try {
    const kind = kindByApiVersion(object.apiVersion, object.kind);
    await client.resource(kind).apply(object, { fieldManager: "dray", force: true });
  } catch (error) {
    const { message } = error as Error;
    const unserved = /page not found|could not find the requested resource/.test(message);
    const why = unserved ? `the cluster does not serve ${object.apiVersion} (see --runtime-config)` : message;
    throw new Error(`${file}: ${why}`, { cause: error });
  }
}

/**
 * Returns the objects of the driver with its settings, and the names of their files, in the order of their
 * use.
 */
export function manifests({ manifests, adapt }: Installation): { file: string; object: KubeObject }[] {
  return manifests
    .flatMap((path) => yamlFiles(join(examplesFolder(), ...path)))
    .flatMap((path) =>
      parseAllDocuments(readFileSync(path, "utf8")).map((document) => ({
        file: basename(path),
        object: offSimulatedNodes(adapt(document.toJS() as KubeObject)),
      })),
    )
    .sort((a, b) => rankOf(a.object) - rankOf(b.object));
}

/**
 * Namespaces come first and workloads last: their pods are refused until the service account and the priority
 * class exist.
 */
function rankOf(object: KubeObject): number {
  if (object.kind === "Namespace") return 0;
  return (object as KubeObject & Partial<DaemonSet>).spec?.template === undefined ? 1 : 2;
}

/** Keeps DaemonSets off simulated nodes, on which pods do not run. */
function offSimulatedNodes(object: KubeObject): KubeObject {
  const { spec } = object as KubeObject & Partial<DaemonSet>;
  if (object.kind !== "DaemonSet" || spec?.template.spec === undefined) return object;
  const terms = [{ matchExpressions: [{ key: simulatedLabel, operator: "DoesNotExist" }] }];
  const affinity = {
    ...spec.template.spec.affinity,
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
  };
  const podSpec = { ...spec.template.spec, affinity };
  return { ...object, spec: { ...spec, template: { ...spec.template, spec: podSpec } } } as KubeObject;
}

/** Returns the file, or the files of the folder by name. */
function yamlFiles(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .map((name) => join(path, name));
}

/** Resolves when the driver's pods are up to date and every ready node has the devices. */
async function published(
  client: Client,
  { offers, daemonSet, isOn }: Installation,
  update: (text: string) => void,
): Promise<void> {
  const stop = new AbortController();
  const { namespace, name } = daemonSet;
  const sets = client.informer(DaemonSet, { namespace, fieldSelector: `metadata.name=${name}` });
  const nodes = client.informer(Node);
  const slices = client.informer(ResourceSlice, {
    fieldSelector: `spec.driver=${offers}`,
    indexes: { node: ({ spec }) => (spec.nodeName === undefined ? [] : [spec.nodeName]) },
  });
  const waiting = (): string[] =>
    nodes
      .list()
      .filter(({ metadata }) => metadata.labels?.[simulatedLabel] === undefined)
      .filter(isReady)
      .filter((node) => !isOn(node, currentDevices(slices.byIndex("node", node.metadata.name))))
      .map(({ metadata }) => metadata.name);
  const isDone = (): boolean => sets.list().every(isRolledOut) && waiting().length === 0;
  const deadline = new ProgressDeadline({
    timeout,
    failure: () =>
      new TimeoutError(
        `${namesText(waiting())} did not get the devices within ${timeout / 1000} s: see \`kubectl get pods -n ${namespace}\``,
      ),
  });
  let missing = Number.POSITIVE_INFINITY;
  const look = (): void => {
    const now = waiting().length;
    if (now < missing) deadline.advance();
    missing = now;
    update(`Waiting for the devices of ${counted(now, "node")}`);
  };
  const all = async (): Promise<void> => {
    await Promise.all([sets, nodes, slices].map((informer) => informer.start(stop.signal)));
    for (const informer of [nodes, slices]) informer.handle({ add: look, update: look });
    // Waits for the next change of any of them.
    await Promise.race([sets, nodes, slices].map((informer) => informer.until(isDone)));
  };
  try {
    await Promise.race([all(), deadline.exceeded]);
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    const reasons = await unreadyReasons(client, daemonSet).catch(() => []);
    throw new Error([error.message, ...reasons].join("\n  "), { cause: error });
  } finally {
    deadline.stop();
    stop.abort();
  }
}

class TimeoutError extends Error {}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function isRolledOut({ metadata, status }: DaemonSet): boolean {
  const { desiredNumberScheduled: desired = 0, updatedNumberScheduled = 0, numberReady = 0 } = status ?? {};
  const observed = Number(status?.observedGeneration ?? 0) >= Number(metadata.generation ?? 0);
  return observed && updatedNumberScheduled === desired && numberReady >= desired;
}

/** Returns the devices of the newest generation of a node's pools; undefined if one is incomplete. */
function currentDevices(slices: readonly ResourceSlice[]): Device[] | undefined {
  const newest = Math.max(...slices.map(({ spec }) => Number(spec.pool.generation ?? 0)));
  const current = slices.filter(({ spec }) => Number(spec.pool.generation ?? 0) === newest);
  const complete = current.every(({ spec }) => Number(spec.pool.resourceSliceCount) === current.length);
  return complete ? current.flatMap(({ spec }) => spec.devices ?? []) : undefined;
}
