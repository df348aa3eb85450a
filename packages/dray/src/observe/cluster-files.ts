import type { DecodeOptions } from "../manifests/decode.ts";
import { readSources } from "../manifests/files.ts";
import { withFleets } from "../manifests/fleet-documents.ts";
import { problemTexts } from "../manifests/problem.ts";
import { type Existing, readObjects } from "../manifests/read.ts";
import { remark } from "../terminal/verbosity.ts";

/**
 * Returns the objects of a live cluster together with those of the files of `--cluster`; undefined without
 * either.
 */
export async function existingObjects(
  { cluster, recursive }: { readonly cluster: readonly string[]; readonly recursive?: boolean },
  options: DecodeOptions,
  live: Existing | undefined,
): Promise<Existing | undefined> {
  if (cluster.length === 0) return live;
  const sources = await withFleets(await readSources(cluster, recursive), options.features, live?.objects);
  const reading = readObjects(sources, options, live);
  for (const text of problemTexts(reading.problems)) remark(`warning: --cluster: ${text}\n`);
  return { objects: reading.world.objects, unreadable: live?.unreadable ?? new Set() };
}
