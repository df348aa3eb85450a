import { systemClock } from "@dray/client";
import { explain as explainObject } from "../../explain/explain.ts";
import { kindWords } from "../../explain/kinds.ts";
import { explainText } from "../../explain/print.ts";
import { claimsOfPod } from "../../explain/scene.ts";
import { parseSubject } from "../../explain/subject.ts";
import { noSurroundings, readSurroundings } from "../../explain/surroundings.ts";
import { volumeClaims } from "../../explain/volume-waits.ts";
import { Inventory } from "../../inventory/inventory.ts";
import { type ObserveFlags, observe } from "../../observe/read.ts";
import { grantText, missingRightLines, rightsOf } from "../../observe/rights.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { withProgress } from "../../terminal/progress.ts";
import { remark } from "../../terminal/verbosity.ts";

export interface ExplainFlags extends ObserveFlags {
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
/** Kinds that are read with the permission `list`; the last three only if needed. */
const explainKinds: ReadonlySet<string> = new Set([...worldKinds, "Event", "ResourceQuota", "PodGroup"]);

/** Explains an object. The exit code is 0 for every answer. */
export async function explain(first: string, second: string | undefined, flags: ExplainFlags): Promise<void> {
  if (flags.rights === true)
    return void process.stdout.write(grantText("explain", rightsOf(explainKinds, [])));
  if (first === undefined)
    throw new UsageError(
      `name an object: KIND NAME, KIND one of ${kindWords.join(", ")}, as in dray explain pod NAME`,
    );
  const { kind, name } = parseSubject(first, second);
  const now = systemClock.now();
  const { explained, notes } = await withProgress("Reading the objects", async (progress) => {
    const observed = await observe(flags, worldKinds, now, async (connection, { world, namespace }) => {
      const pod = kind === "Pod" ? world.find("Pod", `${namespace}/${name}`) : undefined;
      return readSurroundings(connection, {
        kind,
        name,
        namespace: kind === "Pod" || kind === "ResourceClaim" ? namespace : undefined,
        podGroups: pod?.spec.schedulingGroup !== undefined,
        quotas: pod !== undefined && claimsOfPod(pod, world).some((each) => each.name === undefined),
        storage: pod !== undefined && !pod.spec.nodeName && volumeClaims(pod).length > 0,
      });
    });
    progress.update("Asking the allocator");
    const { world, features, namespace, source, more: surroundings = noSurroundings } = observed;
    const rights = rightsOf(explainKinds, [...observed.missing, ...surroundings.missing]);
    const explained = await explainObject(
      { kind, name, namespace, source },
      { world, features, surroundings, now },
      new Inventory(world, features),
      rights,
    );
    return { explained, notes: [...missingRightLines(source, rights), ...observed.notes] };
  });
  for (const note of notes) remark(`warning: ${note}\n`);
  if (notes.length > 0 && explained.rights.missing.length > 0)
    remark("`dray explain --rights` prints the commands that grant what suffices\n");
  if (flags.output === undefined) process.stdout.write(explainText(explained, now));
  else await printData(explained, flags.output);
}
