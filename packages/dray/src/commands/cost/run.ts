import { systemClock, timeText } from "@dray/client";
import { costKinds, costOf } from "../../cost/cost.ts";
import { costText } from "../../cost/print.ts";
import type { DecodeOptions } from "../../manifests/decode.ts";
import { readSources } from "../../manifests/files.ts";
import { withFleets } from "../../manifests/fleet-documents.ts";
import { problemTexts } from "../../manifests/problem.ts";
import { readObjects } from "../../manifests/read.ts";
import { Selectors } from "../../manifests/selectors.ts";
import { World } from "../../manifests/world.ts";
import { readCluster } from "../../observe/cluster.ts";
import { existingObjects } from "../../observe/cluster-files.ts";
import { type ClusterFlags, namesCluster } from "../../options/manifest-options.ts";
import { featuresOption } from "../../options/values.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { printText, tableFormat } from "../../terminal/print-text.ts";
import { type Progress, withProgress } from "../../terminal/progress.ts";
import { remark } from "../../terminal/verbosity.ts";

export interface CostFlags extends ClusterFlags {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly cluster: readonly string[];
  readonly headers?: boolean;
  readonly output?: "json" | "yaml" | "wide";
}

/** Prints what manifests would hold. The exit code is 1 if something is not counted. */
export function cost(flags: CostFlags): Promise<void> {
  return withProgress("Reading the objects", (progress) => costWith(flags, progress));
}

async function costWith(flags: CostFlags, progress: Progress): Promise<void> {
  featuresOption(flags);
  if (flags.filename.length === 0)
    throw new UsageError("name the manifests with -f: files, directories, - for standard input");
  const sources = await readSources(flags.filename, flags.recursive);
  const isLive = namesCluster(flags);
  if (isLive) progress.update("Reading the cluster");
  const live = isLive ? await readCluster(flags) : undefined;
  const features = live?.features ?? featuresOption(flags);
  const options: DecodeOptions = {
    features,
    namespace: flags.namespace ?? live?.namespace ?? "default",
    selectors: new Selectors(features),
    now: timeText(systemClock.now()),
    progress,
    furtherKinds: costKinds,
  };
  const existing = await existingObjects(flags, options, live?.live);
  const own = readObjects(await withFleets(sources, features, existing?.objects), options);
  const cluster = new World(existing?.objects ?? [], existing?.unreadable).overlaid(own.world.objects);
  const data = costOf({ manifests: own.world, cluster, features });
  progress.stop();
  for (const text of problemTexts(own.problems)) process.stderr.write(`error: ${text}\n`);
  for (const note of [...(live?.notes ?? []), ...own.notes]) remark(`note: ${note}\n`);
  for (const warning of own.warnings) remark(`warning: ${warning}\n`);
  for (const { object, missing } of data.subjects)
    for (const text of missing) remark(`warning: ${object}: ${text}: its devices are not counted\n`);
  if (own.problems.length > 0 || data.subjects.some(({ missing }) => missing.length > 0))
    process.exitCode = 1;
  if (flags.output === "json" || flags.output === "yaml") await printData(data, flags.output);
  else printText(costText(data, tableFormat(flags)));
}
