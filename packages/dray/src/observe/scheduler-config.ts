import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Features } from "@dray/api";
import { contextName, dataDirOf, defaultName, type Layout, layoutOf, readConfig } from "@dray/cluster";
import { ignoredParts, type SchedulerConfiguration } from "@dray/scheduler";
import type { Connection } from "../connection/connect.ts";
import type { Located } from "../manifests/place.ts";
import type { ClusterFlags } from "../options/manifest-options.ts";
import { checkSchedulerConfig, readSchedulerConfig } from "../options/scheduler-config.ts";
import { names } from "../text/words.ts";
import { schedulerConfigPath } from "./gates.ts";

/** The configuration of a cluster's scheduler, as far as it is known. */
export type LiveSchedulerConfig =
  /** The default one. */
  | { readonly type: "default" }
  /** That of a cluster of `dray up`, of which the data directory is readable. */
  | { readonly type: "file"; readonly path: string; readonly text: string }
  /** A file on the machine of that pod, which the API does not offer. */
  | { readonly type: "unknown"; readonly path: string; readonly pod: string };

export function liveSchedulerConfig(
  connection: Connection,
  flags: ClusterFlags,
  objects: readonly Located[],
): LiveSchedulerConfig {
  const kept = localConfig(connection, flags)?.schedulerConfig;
  if (kept !== undefined) return { type: "file", ...kept };
  const named = schedulerConfigPath(objects);
  return named === undefined ? { type: "default" } : { type: "unknown", ...named };
}

/** Returns the configuration of the cluster of `dray up` with this connection. */
function localConfig(connection: Connection, flags: ClusterFlags): ReturnType<typeof readConfig> {
  for (const layout of layoutsOf(connection, flags)) {
    const ca = `${layout.pki}/ca.crt`;
    // The name of a context is anybody's: only the authority says that it is the same cluster.
    try {
      if (!existsSync(ca) || readFileSync(ca, "utf8").trim() !== connection.ca?.trim()) continue;
      return readConfig(layout);
    } catch {
      // The data directory of another user, or a damaged one, which the commands of the cluster report.
    }
  }
  return undefined;
}

function layoutsOf({ context }: Connection, { kubeconfig }: ClusterFlags): Layout[] {
  const file = kubeconfig ?? process.env["KUBECONFIG"];
  const prefix = `${contextName(defaultName)}-`;
  const name = context.startsWith(prefix) ? context.slice(prefix.length) : defaultName;
  return [...(file ? [dirname(file)] : []), dataDirOf(name)].map(layoutOf);
}

/** The configuration of the scheduler whose decisions are predicted. */
export interface ChosenSchedulerConfig {
  /** Undefined: the default one. */
  readonly configuration: SchedulerConfiguration | undefined;
  readonly notes: readonly string[];
}

/** Returns the configuration of the flag, otherwise that of the cluster as far as it is known. */
export async function chooseSchedulerConfig(
  { schedulerConfig: file }: { readonly schedulerConfig?: string },
  cluster: { readonly name: string; readonly schedulerConfig: LiveSchedulerConfig } | undefined,
  features: Features,
): Promise<ChosenSchedulerConfig> {
  if (file !== undefined) {
    const { configuration } = await readSchedulerConfig("--scheduler-config", file, features);
    return { configuration, notes: ignoredNotes(file, configuration) };
  }
  const live = cluster?.schedulerConfig ?? { type: "default" };
  if (live.type === "default") return { configuration: undefined, notes: [] };
  const { path } = live;
  if (live.type === "unknown") {
    const why = `${cluster?.name}: the scheduler of ${live.pod} is configured by ${path} on its machine, which the API does not offer`;
    const what = "its default configuration is assumed (--scheduler-config takes a copy)";
    return { configuration: undefined, notes: [`${why}: ${what}`] };
  }
  const configuration = await checkSchedulerConfig(path, live.text, features);
  const note = `${cluster?.name}: its scheduler is configured by ${path}`;
  return { configuration, notes: [note, ...ignoredNotes(path, configuration)] };
}

function ignoredNotes(file: string, configuration: SchedulerConfiguration): string[] {
  const parts = ignoredParts(configuration);
  return parts.length === 0 ? [] : [`${file}: programs of others are not asked: ${names(parts)}`];
}
