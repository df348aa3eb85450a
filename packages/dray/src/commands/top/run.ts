import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@dray/client";
import { Inventory } from "../../inventory/inventory.ts";
import { type ObserveFlags, observe } from "../../observe/read.ts";
import { grantText, missingRightLines, rightsOf } from "../../observe/rights.ts";
import { durationOption } from "../../options/values.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { withProgress } from "../../terminal/progress.ts";
import { remark } from "../../terminal/verbosity.ts";
import { type Subject, type TopData, topData } from "../../top/data.ts";
import { topText } from "../../top/print.ts";

export interface TopFlags extends ObserveFlags {
  readonly watch?: boolean;
  readonly interval?: string;
  readonly rights?: boolean;
  readonly output?: "json" | "yaml";
}

/** The kinds that `top` lists; DeviceTaintRules only if the release has them. */
const topKinds: ReadonlySet<string> = new Set([
  "Node",
  "Pod",
  "ResourceSlice",
  "DeviceClass",
  "ResourceClaim",
  "ResourceClaimTemplate",
  "DeviceTaintRule",
]);

const clearScreen = "\u001b[H\u001b[2J\u001b[3J";

/** Prints devices, nodes, classes, claims or namespaces with their allocated and free devices. */
export async function top(what: Subject, flags: TopFlags): Promise<void> {
  const interval = durationOption("--interval", flags.interval ?? "2s");
  if (flags.rights === true) return void process.stdout.write(grantText("top", rightsOf(topKinds, [])));
  if (flags.watch === true && flags.filename.includes("-"))
    throw new UsageError("--watch reads again and again: standard input (-f -) can be read only once");
  let before = "";
  for (;;) {
    const { data, notes } = await withProgress("Reading the objects", () => read(what, flags));
    // Repeated messages are printed once.
    const text = notes.map((note) => `warning: ${note}\n`).join("");
    if (text !== before) remark(text);
    before = text;
    if (flags.output !== undefined) await printData(data, flags.output);
    else {
      if (flags.watch === true && process.stdout.isTTY) process.stdout.write(clearScreen);
      process.stdout.write(topText(data, systemClock.now()));
    }
    if (flags.watch !== true) return;
    if (!process.stdout.isTTY) process.stdout.write(flags.output === "yaml" ? "---\n" : "");
    await sleep(interval);
  }
}

async function read(
  what: Subject,
  flags: TopFlags,
): Promise<{ readonly data: TopData; readonly notes: readonly string[] }> {
  const observed = await observe(flags, topKinds, systemClock.now(), async () => undefined);
  const rights = rightsOf(topKinds, observed.missing);
  const data = topData(what, new Inventory(observed.world, observed.features));
  return { data, notes: [...missingRightLines(observed.source, rights), ...observed.notes] };
}
