import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { systemClock } from "@dray/client";
import { readConfig } from "@dray/cluster";
import { noCluster, type TargetFlags, target } from "../../options/target.ts";
import { durationOption, wholeNumber } from "../../options/values.ts";
import { UsageError } from "../../terminal/failure.ts";
import { remark, verbosity } from "../../terminal/verbosity.ts";
import { type Entry, nameOf } from "./entry.ts";
import { entryText } from "./print.ts";
import { components, selectEntries } from "./select.ts";
import { LogSource } from "./source.ts";

export interface LogsFlags extends TargetFlags {
  readonly follow?: boolean;
  readonly since?: string;
  readonly tail?: string;
  readonly output?: "json" | "yaml";
}

/** Polling interval for new lines, in milliseconds. */
const followInterval = 250;
const maxTail = 10_000_000;

/** Prints the logs of a cluster's components in the order of time. */
export async function logs(names: readonly string[], flags: LogsFlags): Promise<void> {
  const { layout } = target(flags);
  const since = flags.since === undefined ? 0 : sinceTime(flags.since);
  const tail = flags.tail === undefined ? undefined : wholeNumber("--tail", flags.tail, 0, maxTail);
  const config = readConfig(layout);
  if (config === undefined) throw noCluster(layout);
  const wanted = selectEntries(names, config.nodes);
  const files = ["control-plane.log", "agents.log", "drivers.log", "up.log"].map((name) =>
    join(layout.logs, name),
  );
  const source = new LogSource(files, wanted);
  const format = await formatter(flags.output, config.nodes);
  try {
    let printed = 0;
    for await (const entry of lastOf(source.history(since), tail)) {
      await print(format(entry));
      printed++;
    }
    if (!flags.follow) {
      if (printed === 0 && tail !== 0)
        remark(`no lines in ${layout.logs}${since > 0 ? " since then" : ""}\n`);
      return;
    }
    for (;;) {
      for (const entry of await source.added()) await print(format(entry));
      await sleep(followInterval);
    }
  } finally {
    await source.close();
  }
}

/** Parses `10m`, or a time with its zone. */
function sinceTime(text: string): number {
  const date = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[-+]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (!Number.isNaN(date)) return date;
  try {
    return systemClock.now() - durationOption("--since", text);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(
      `--since ${text}: must be a duration above 0, such as 10m or 1h30m, or a time, such as 2026-01-31T08:00:00Z`,
    );
  }
}

/** Returns the last `count` entries; all if it is undefined. */
async function* lastOf(entries: AsyncGenerator<Entry>, count: number | undefined): AsyncGenerator<Entry> {
  if (count === undefined) return yield* entries;
  let last: Entry[] = [];
  for await (const entry of entries) {
    last.push(entry);
    // Drops old entries in batches: dropping one at a time would move the rest each time.
    if (last.length > 2 * count + 1000) last = last.slice(last.length - count);
  }
  yield* last.slice(last.length - Math.min(count, last.length));
}

async function formatter(
  output: LogsFlags["output"],
  nodes: readonly string[],
): Promise<(entry: Entry) => string> {
  const data = ({ time, level, component, node, message, fields }: Entry): object => ({
    time: new Date(time).toISOString(),
    level: level >= 50 ? "error" : level >= 40 ? "warn" : level >= 30 ? "info" : "debug",
    component,
    ...(node !== undefined && { node }),
    message,
    ...(Object.keys(fields).length > 0 && { fields }),
  });
  if (output === "json") return (entry) => `${JSON.stringify(data(entry))}\n`;
  if (output === "yaml") {
    const { stringify } = await import("yaml");
    return (entry) => `---\n${stringify(data(entry))}`;
  }
  const names = [...components.keys(), ...nodes.map((node) => nameOf({ component: "kubelet", node }))];
  const width = Math.max(...names.map((name) => name.length));
  return (entry) => entryText(entry, { width, stacks: verbosity() > 0, colour: styleText });
}

/** Waits for a reader that is slower than the disk. */
async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}
