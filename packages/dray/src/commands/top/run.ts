import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@dray/client";
import { Inventory } from "../../inventory/inventory.ts";
import { answerWithoutFaults, type Fault } from "../../manifests/faults.ts";
import type { MissingRight } from "../../manifests/live.ts";
import { type ObserveFlags, observe } from "../../observe/read.ts";
import { grantText, missingRightLines, rightsOf } from "../../observe/rights.ts";
import { durationOption } from "../../options/values.ts";
import { NoRightsError, UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { printText, tableFormat } from "../../terminal/print-text.ts";
import { withProgress } from "../../terminal/progress.ts";
import { remark } from "../../terminal/verbosity.ts";
import { type TopData, type TopView, topData } from "../../top/data.ts";
import { topText } from "../../top/print.ts";
import { parseSelection, type Selection } from "../../top/selection.ts";
import { checkSortKey } from "../../top/sort.ts";
import type { Subject } from "../../top/subjects.ts";

export interface TopFlags extends ObserveFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly sortBy?: string;
  readonly groupBy?: string;
  readonly all?: boolean;
  readonly headers?: boolean;
  readonly watch?: boolean;
  readonly interval?: string;
  readonly rights?: boolean;
  readonly output?: "json" | "yaml" | "wide";
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

/** The kinds of which the rows are made: without one of them every number would be false. */
const essentialKinds: Readonly<Record<Subject, readonly string[]>> = {
  devices: ["ResourceSlice"],
  nodes: ["Node", "ResourceSlice"],
  classes: ["Node", "ResourceSlice", "DeviceClass"],
  templates: ["Node", "ResourceSlice", "ResourceClaimTemplate"],
  claims: ["ResourceClaim"],
  namespaces: ["ResourceClaim"],
};

const clearScreen = "\u001b[H\u001b[2J\u001b[3J";

/** Prints devices, nodes, classes, templates, claims or namespaces with their allocated and free devices. */
export async function top(what: Subject, flags: TopFlags): Promise<void> {
  const interval = durationOption("--interval", flags.interval ?? "2s");
  if (flags.rights === true) return void process.stdout.write(grantText("top", rightsOf(topKinds, [])));
  if (flags.watch === true && flags.filename.includes("-"))
    throw new UsageError("--watch reads again and again: standard input (-f -) can be read only once");
  if (flags.sortBy !== undefined) checkSortKey(what, flags.sortBy);
  if (flags.groupBy !== undefined && what !== "nodes")
    throw new UsageError(`--group-by groups nodes, not ${what}: dray top nodes --group-by ${flags.groupBy}`);
  let before = "";
  for (;;) {
    const { data, notes } = await withProgress("Reading the objects", () => read(what, flags));
    // Repeated messages are printed once.
    const text = notes.map((note) => `warning: ${note}\n`).join("");
    if (text !== before) remark(text);
    before = text;
    if (flags.output === "json" || flags.output === "yaml") await printData(data, flags.output);
    else {
      if (flags.watch === true && process.stdout.isTTY) process.stdout.write(clearScreen);
      const format = tableFormat(flags);
      printText(topText(data, systemClock.now(), { format, all: flags.all === true }));
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
  const { world, features, source } = observed;
  requireRights(what, observed.missing, source);
  const selection =
    flags.selector === undefined ? undefined : selectionOf(what, parseSelection(flags.selector, features));
  const view: TopView = {
    ...(selection !== undefined && { selection }),
    ...(flags.namespace !== undefined && flags.allNamespaces !== true && { namespace: flags.namespace }),
    ...(flags.sortBy !== undefined && { sortBy: flags.sortBy }),
    ...(flags.groupBy !== undefined && { groupBy: flags.groupBy }),
  };
  const { answer, faults } = answerWithoutFaults(world, (readable) =>
    topData(what, new Inventory(readable, features), view),
  );
  const rights = rightsOf(topKinds, observed.missing);
  return {
    data: answer,
    notes: [...missingRightLines(source, rights), ...observed.notes, ...faults.map(faultText)],
  };
}

const faultText = ({ label, message }: Fault): string =>
  `${label} cannot be read, and is left out: ${message}`;

function selectionOf(what: Subject, selection: Selection): Selection {
  if (selection.type === "labels" || what === "nodes" || what === "devices") return selection;
  throw new UsageError(`--selector: an expression about devices selects nodes and devices, not ${what}`);
}

/** Throws NoRightsError if a kind of which the answer is made cannot be listed anywhere. */
function requireRights(what: Subject, missing: readonly MissingRight[], source: string): void {
  const needed = missing.filter(
    ({ kind, only }) => only === undefined && essentialKinds[what].includes(kind),
  );
  if (needed.length === 0) return;
  const lines = missingRightLines(source, rightsOf([], needed));
  throw new NoRightsError(`${lines.join("\n")}\n\`dray top --rights\` prints the commands that grant it`);
}
