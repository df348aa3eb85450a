import type { Pod } from "@dray/api/core/v1";
import type { Connection } from "../connection/connect.ts";
import { lastLine } from "../drivers/unready-pods.ts";
import { failedContainerOf, logKey } from "./pod-troubles.ts";

/** Maximum number of containers whose logs are read. */
const maxLogs = 20;
/** Maximum length of a line of a log. */
const maxLine = 300;

/** Reads the last line of the failing container of each pod, as far as the user may; by `logKey`. */
export async function lastLines(
  { client }: Connection,
  pods: readonly Pod[],
): Promise<ReadonlyMap<string, string>> {
  const failing = pods.flatMap((pod) => {
    const container = failedContainerOf(pod);
    return container === undefined ? [] : { pod, container };
  });
  const lines = await Promise.all(
    failing.slice(0, maxLogs).map(async ({ pod, container }) => {
      const line = await lastLine(client, pod, container);
      return [logKey(pod, container.name), line?.slice(0, maxLine)] as const;
    }),
  );
  return new Map(lines.flatMap(([key, line]) => (line === undefined ? [] : [[key, line]])));
}
