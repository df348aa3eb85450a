import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Features } from "@dray/api";
import { timeText } from "@dray/client";
import type { Connection } from "../connection/connect.ts";
import type { DecodeOptions } from "../manifests/decode.ts";
import { readSources } from "../manifests/files.ts";
import { type MissingRight, readLive } from "../manifests/live.ts";
import { problemTexts } from "../manifests/problem.ts";
import { type Existing, type Reading, readObjects } from "../manifests/read.ts";
import { Selectors } from "../manifests/selectors.ts";
import { furtherRows, type World } from "../manifests/world.ts";
import { noCluster, type TargetFlags, target } from "../options/target.ts";
import { featuresOption } from "../options/values.ts";
import { withCluster } from "./cluster.ts";
import { existingObjects } from "./cluster-files.ts";

/** The flags that select the input of `explain` and `top`. */
export interface ObserveFlags extends TargetFlags {
  readonly filename: readonly string[];
  /** Files with the objects of a cluster, over which those of `filename` are laid. */
  readonly cluster?: readonly string[];
  readonly recursive?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
}

/** A cluster, or the cluster that manifests describe. */
export interface Observed {
  readonly world: World;
  readonly features: Features;
  /** Namespace of objects that do not name one. */
  readonly namespace: string;
  /** Source of the data in texts: `context NAME`, or the files. */
  readonly source: string;
  readonly isLive: boolean;
  readonly notes: readonly string[];
  /** Lists that are forbidden. */
  readonly missing: readonly MissingRight[];
}

/**
 * Reads the kinds from the cluster of the flags, and from the manifests; with manifests only, without a
 * cluster. `more` reads additional data, and is not called offline.
 */
export async function observe<T>(
  flags: ObserveFlags,
  kinds: ReadonlySet<string>,
  now: number,
  more: (connection: Connection, observed: Observed) => Promise<T>,
): Promise<Observed & { readonly more: T | undefined }> {
  const sources = await readSources(flags.filename, flags.recursive);
  const optionsOf = (features: Features, namespace: string): DecodeOptions => ({
    ...{ features, namespace, selectors: new Selectors(features) },
    ...{ now: timeText(now), furtherKinds: kinds },
  });
  const read = (features: Features, namespace: string, live?: Existing): Reading =>
    readObjects(sources, optionsOf(features, namespace), live);
  const { cluster: clusterFiles = [] } = flags;
  const hasFiles = flags.filename.length + clusterFiles.length > 0;
  const isLive = namesCluster(flags) || !hasFiles;
  /** Adds the objects of `--cluster`. */
  const existing = (
    features: Features,
    namespace: string,
    live?: Existing,
  ): Promise<Existing | undefined> => {
    const options = optionsOf(features, namespace);
    return existingObjects(
      { cluster: clusterFiles, ...(flags.recursive && { recursive: true }) },
      options,
      live,
    );
  };
  if (!isLive) {
    const [features, namespace] = [featuresOption(flags), flags.namespace ?? "default"];
    const reading = read(features, namespace, await existing(features, namespace));
    const source = [...clusterFiles, ...flags.filename].join(", ");
    return {
      ...{ world: withUnknownKinds(reading.world, kinds), features, namespace, source, isLive, missing: [] },
      notes: notesOf(reading),
      more: undefined,
    };
  }
  return withCluster({ ...flags, ...kubeconfigOf(flags) }, async ({ connection, name, ...cluster }) => {
    const { features, namespace } = cluster;
    const live = await readLive(connection, namespace, features, kinds);
    const reading = read(features, namespace, await existing(features, namespace, live));
    const observed = {
      ...{ world: reading.world, features, namespace, source: name, isLive, missing: live.missing },
      notes: [...cluster.notes, ...notesOf(reading)],
    };
    return { ...observed, more: await more(connection, observed) };
  });
}

/** A further kind of which the manifests have no object is unknown: a dump leaves most kinds out. */
function withUnknownKinds(world: World, kinds: ReadonlySet<string>): World {
  const there = new Set(world.objects.map(({ object }) => object.kind));
  const unknown = furtherRows(kinds).flatMap(({ kind }) => (there.has(kind) ? [] : kind));
  return unknown.length === 0 ? world : world.without(unknown);
}

const notesOf = (reading: Reading): string[] => [
  ...problemTexts(reading.problems),
  ...reading.notes,
  ...reading.warnings,
];

const namesCluster = (flags: ObserveFlags): boolean =>
  [flags.kubeconfig, flags.context, flags.name, flags.dataDir].some((flag) => flag !== undefined);

/** kubectl's precedence, and last the cluster of `dray up`. */
function kubeconfigOf(flags: ObserveFlags): { readonly kubeconfig?: string } {
  if (flags.kubeconfig !== undefined || flags.context !== undefined) return {};
  const isNamed = flags.name !== undefined || flags.dataDir !== undefined;
  const hasOther = process.env["KUBECONFIG"] || existsSync(join(homedir(), ".kube/config"));
  if (!isNamed && hasOther) return {};
  const { layout } = target(flags);
  if (existsSync(layout.kubeconfig)) return { kubeconfig: layout.kubeconfig };
  if (isNamed) throw noCluster(layout);
  return {};
}
