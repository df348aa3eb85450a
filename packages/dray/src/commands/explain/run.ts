import { systemClock } from "@dray/client";
import type { Connection } from "../../connection/connect.ts";
import type { Explained, SubjectKind } from "../../explain/data.ts";
import { explainReadable } from "../../explain/explain.ts";
import { type OverviewFilter, overviewOf, overviewText } from "../../explain/overview.ts";
import { explainText } from "../../explain/print.ts";
import { claimsOfPod } from "../../explain/scene.ts";
import { isNamespacedKind, parseSubject } from "../../explain/subject.ts";
import {
  noSurroundings,
  readSurroundings,
  type Surroundings,
  storageKinds,
} from "../../explain/surroundings.ts";
import { volumeClaims } from "../../explain/volume-waits.ts";
import { podsOfWorkload, stuckPod, type Workload } from "../../explain/workload.ts";
import { answerWithoutFaults } from "../../manifests/faults.ts";
import type { World } from "../../manifests/world.ts";
import { type ObserveFlags, observe } from "../../observe/read.ts";
import { grantText, missingRightLines, rightsOf } from "../../observe/rights.ts";
import { labelSelector } from "../../options/values.ts";
import { NoRightsError, UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { printText, tableFormat } from "../../terminal/print-text.ts";
import { withProgress } from "../../terminal/progress.ts";
import { remark } from "../../terminal/verbosity.ts";

export interface ExplainFlags extends ObserveFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly headers?: boolean;
  readonly rights?: boolean;
  readonly output?: "json" | "yaml";
}

const worldKinds: ReadonlySet<string> = new Set([
  "Node",
  "Pod",
  "Namespace",
  "ResourceSlice",
  "DeviceClass",
  "ResourceClaim",
  "ResourceClaimTemplate",
  "DeviceTaintRule",
  "PriorityClass",
]);
/** Kinds that are read if the subject needs them. */
const furtherKinds = [
  ...["Event", "ResourceQuota", "PodGroup"],
  ...["DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"],
  ...storageKinds.map(({ kind }) => kind),
];
/** Kinds that are read with the permission `list`. */
const explainKinds: ReadonlySet<string> = new Set([...worldKinds, ...furtherKinds]);

/** Explains an object, or lists what waits. The exit code is 0 for every answer. */
export async function explain(
  first: string | undefined,
  second: string | undefined,
  flags: ExplainFlags,
): Promise<void> {
  if (flags.rights === true)
    return void process.stdout.write(grantText("explain", rightsOf(explainKinds, [])));
  const now = systemClock.now();
  if (first === undefined || (second === undefined && isPodsWord(first))) return explainAll(flags, now);
  const { kind, name } = parseSubject(first, second);
  if (flags.selector !== undefined || flags.allNamespaces === true)
    throw new UsageError("-l and -A are for the list of what waits: leave out kind and name, or the flags");
  const { explained, notes } = await withProgress("Reading the objects", async (progress) => {
    const observed = await observe(flags, kindsFor(kind), now, (connection, { world, namespace }) =>
      surroundingsOf(connection, world, { kind, name, namespace }),
    );
    progress.update("Asking the allocator");
    const { features, namespace, source, more: surroundings = noSurroundings } = observed;
    const world = withSurroundings(observed.world, surroundings);
    // A rule that selects among no devices would be a false answer.
    if (kind === "DeviceTaintRule" && !observed.isLive && world.all("ResourceSlice").length === 0)
      throw new UsageError(noSlices);
    const rights = rightsOf(explainKinds, [...observed.missing, ...surroundings.missing]);
    const explained = await explainReadable(
      { kind, name, namespace, source },
      { world, features, surroundings, now },
      rights,
    );
    const notes = [...missingRightLines(source, rights), ...observed.notes];
    return { explained, notes: [...notes, ...leftOutLines(explained)] };
  });
  remarks(notes, explained.rights.missing.length > 0);
  if (flags.output === undefined) printText(explainText(explained, now, tableFormat(flags)));
  else await printData(explained, flags.output);
}

/** Lists what waits, of all namespaces unless one is named. */
async function explainAll(flags: ExplainFlags, now: number): Promise<void> {
  const namespace = flags.allNamespaces === true ? undefined : flags.namespace;
  const filter: OverviewFilter = {
    ...(namespace !== undefined && { namespace }),
    ...(flags.selector !== undefined && { hasLabels: labelSelector("--selector", flags.selector) }),
  };
  const { overview, notes } = await withProgress("Reading the objects", async (progress) => {
    const kinds = new Set([...worldKinds, "PodGroup"]);
    const observed = await observe(flags, kinds, now, (connection) =>
      readSurroundings(connection, {
        kind: "Pod",
        ...{ name: undefined, namespace },
        ...{ podGroups: true, quotas: false, storage: false },
      }),
    );
    progress.update("Asking the allocator");
    const { features, source, more: surroundings = noSurroundings } = observed;
    const world = withSurroundings(observed.world, surroundings);
    // Nothing waits among no pods: that would be a false answer.
    const pods = observed.missing.filter(({ kind, only }) => kind === "Pod" && only === undefined);
    if (pods.length > 0)
      throw new NoRightsError(`${missingRightLines(source, rightsOf([], pods)).join("\n")}\n${rightsHint}`);
    const rights = rightsOf(explainKinds, [...observed.missing, ...surroundings.missing]);
    const overview = await overviewOf({ world, features, surroundings, now }, filter, rights);
    const notes = [...missingRightLines(source, rights), ...observed.notes];
    return { overview, notes: [...notes, ...leftOutLines(overview)] };
  });
  remarks(notes, overview.missing.length > 0);
  if (flags.output === undefined) printText(overviewText(overview, tableFormat(flags)));
  else await printData(overview, flags.output);
}

const noSlices =
  "there is no ResourceSlice in the files: name the cluster whose devices the rule selects (--context, --name), or a dump of it (--cluster)";

const leftOutLines = ({ leftOut = [] }: Pick<Explained, "leftOut">): string[] =>
  leftOut.map(({ object, why }) => `${object} cannot be read, and is left out: ${why}`);

const rightsHint = "`dray explain --rights` prints the commands that grant what suffices";

function remarks(notes: readonly string[], lacksRights: boolean): void {
  for (const note of notes) remark(`warning: ${note}\n`);
  if (notes.length > 0 && lacksRights) remark(`${rightsHint}\n`);
}

/** A workload is read with the objects between it and its pods. */
function kindsFor(kind: SubjectKind): ReadonlySet<string> {
  if (kind === "Deployment") return new Set([...worldKinds, kind, "ReplicaSet"]);
  return new Set([...worldKinds, kind]);
}

/** Reads the data about the subject, and of a workload about the pod that is explained for it. */
async function surroundingsOf(
  connection: Connection,
  world: World,
  {
    kind,
    name,
    namespace,
  }: { readonly kind: SubjectKind; readonly name: string; readonly namespace: string },
): Promise<Surroundings> {
  const workload = workloadOf(world, kind, `${namespace}/${name}`);
  const { answer: pod } = answerWithoutFaults(world, (each) =>
    kind === "Pod"
      ? each.find("Pod", `${namespace}/${name}`)
      : workload && stuckPod(podsOfWorkload(workload, each)),
  );
  const about = await readSurroundings(connection, {
    ...(pod === undefined ? { kind, name } : { kind: "Pod", name: pod.metadata.name }),
    namespace: isNamespacedKind(kind) ? namespace : undefined,
    podGroups: pod?.spec.schedulingGroup !== undefined,
    quotas: pod !== undefined && claimsOfPod(pod, world).some((each) => each.name === undefined),
    storage: pod !== undefined && !pod.spec.nodeName && volumeClaims(pod).length > 0,
  });
  if (workload === undefined || pod === undefined) return about;
  const own = { kind, name, namespace, podGroups: false, quotas: false, storage: false };
  const { events } = await readSurroundings(connection, own);
  return { ...about, events: [...about.events, ...events] };
}

function workloadOf(world: World, kind: SubjectKind, name: string): Workload | undefined {
  switch (kind) {
    case "DaemonSet":
    case "Deployment":
    case "Job":
    case "PodGroup":
    case "ReplicaSet":
    case "StatefulSet":
      return world.find(kind, name);
    default:
      return undefined;
  }
}

/** Groups and storage count in trials, too. */
function withSurroundings(world: World, { podGroups, storage = [] }: Surroundings): World {
  const place = { source: { file: "", text: "", lineOf: () => undefined }, root: "" };
  return world.overlaid([...podGroups, ...storage].map((object) => ({ object, place })));
}

const isPodsWord = (word: string): boolean => ["pod", "pods", "po"].includes(word.toLowerCase());
