import type { Check } from "@dray/allocator";
import { jsonText } from "../manifests/json-text.ts";
import { counted, names } from "../text/words.ts";
import {
  type DeviceRefusal,
  maxNames as maxGroupNames,
  type PodExplanation,
  type RequestRefusal,
} from "./explain.ts";

const wide = "    ";

/** Text of each check for a device that fails it. */
const meanings: Readonly<Record<Check, string>> = {
  pool: "in a pool that cannot be used",
  "in-use": "in use",
  "class-selector": "ruled out by a selector of the class",
  "request-selector": "ruled out by a selector of the request",
  node: "not for the node",
  capacity: "without the capacity",
  gate: "not given out by these rules",
  "compatibility-group": "in no common compatibility group",
  counter: "beyond a counter",
  taint: "tainted",
  constraint: "against a constraint",
  limit: "beyond a limit",
  error: "in error",
};

/**
 * Formats the reasons of each plugin and the results for devices; leaves out `said`, which was printed
 * before.
 */
export function reasonLines({ refusals }: PodExplanation, said: string): string[] {
  return refusals
    .toSorted((a, b) => b.count - a.count)
    .flatMap(({ plugin, reasons, count, nodes, claims }) => {
      const words = reasons.join(", ");
      const known = refusals.length === 1 && said.includes(words);
      if (known && claims === undefined) return [];
      return [
        `${counted(count, "node")} (${names(nodes, count)})${known ? "" : `: ${words}`} [${plugin}]`,
        ...(claims ?? []).flatMap(({ claim, requests }) =>
          requests.flatMap((request) => requestLines(claim, request, count)),
        ),
      ];
    });
}

/** Devices of other classes come last: they were never meant. */
const byInterest = (a: DeviceRefusal, b: DeviceRefusal): number =>
  Number(a.check === "class-selector") - Number(b.check === "class-selector");

/** Formats the number of requested devices. */
export function wantedText({ wanted, exactWanted }: Pick<RequestRefusal, "wanted" | "exactWanted">): string {
  return exactWanted === undefined ? counted(wanted, "device") : `${exactWanted} devices`;
}

export function requestLines(claim: string, request: RequestRefusal, nodes: number): string[] {
  const { seen, suitable, mostOnOneNode: most } = request;
  const where = nodes === 1 ? "" : `, at most ${most} on one node`;
  const fit =
    suitable === 0
      ? "none of them is suitable"
      : `${suitable} of them ${suitable === 1 ? "is" : "are"} suitable${where}`;
  const found =
    seen === 0 ? "the nodes can reach no device" : `the nodes can reach ${counted(seen, "device")}, ${fit}`;
  return [
    `${wide}claim ${claim}, request ${request.request}: wants ${wantedText(request)} of class ${request.deviceClass}; ${found}`,
    ...causeLines(request.refused).map((line) => `${wide}${wide}${line}`),
  ];
}

/** Maximum number of groups with one selector that have a line each. */
const maxAlike = 3;
/** Maximum number of names of attributes in a line. */
const maxKeys = 8;
/** Maximum number of lines about the devices of a request. */
const maxCauses = 12;

/**
 * Formats a line for each cause; of a selector that reads many values, such as an identifier, one line in
 * all.
 */
function causeLines(refused: readonly DeviceRefusal[]): string[] {
  const alike = Map.groupBy(refused.toSorted(byInterest), (group) =>
    group.selector === undefined ? group : `${group.check} ${group.selector.expression}`,
  );
  const lines = [...alike.values()].flatMap((groups) =>
    groups.length > maxAlike ? [foldedLine(groups)] : groups.map(causeLine),
  );
  const rest = lines.length - maxCauses;
  return rest > 1 ? [...lines.slice(0, maxCauses), `and ${rest} more causes`] : lines;
}

function causeLine(group: DeviceRefusal): string {
  const { check, count, nodes, devices } = group;
  // A request that is refused as a whole has no count.
  const amount = count === 0 ? "" : `${count} on ${counted(nodes, "node")}: `;
  // Fewer than the maximum number of names are all devices, though several nodes may reach each.
  const all = devices.length < maxGroupNames ? devices.length : count;
  const named = devices.length === 0 ? "" : ` (${names(devices, all)})`;
  return `${amount}${meanings[check]}: ${detailOf(group)}${named}`;
}

/** Formats groups that differ only in the values that their selector reads. */
function foldedLine(groups: readonly DeviceRefusal[]): string {
  const { check, selector } = groups[0]!;
  const read = Object.keys(selector?.values ?? {}).map((name) => {
    const values = new Set(groups.map((group) => group.selector?.values[name] ?? null));
    return `${name} = ${names([...values].map((each) => (each === null ? "missing" : value(each))))}`;
  });
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  return `${counted(count, "device")}: ${meanings[check]}: ${selector?.expression} [${read.join("; ")}]`;
}

const value = (of: unknown): string => (typeof of === "string" ? of : jsonText(of));

function detailOf({
  cause,
  selector,
  constraint,
  counter,
  capacity,
  taint,
  rules = [],
}: DeviceRefusal): string {
  if (selector !== undefined) return selectorText(selector);
  if (constraint !== undefined) {
    const { kind, attribute, other, otherDevice } = constraint;
    const own = constraint.value === undefined ? "is missing" : `is ${value(constraint.value)}`;
    const beside = otherDevice === undefined ? "" : `, that of ${otherDevice} is ${value(other)}`;
    return `${kind} ${attribute}: it ${own}${beside}`;
  }
  if (counter !== undefined) {
    const { counterSet, counter: name, asked, left } = counter;
    return `it takes ${asked} of ${name} in ${counterSet}, and ${left} is left`;
  }
  if (capacity !== undefined) return capacityText(capacity);
  if (taint !== undefined)
    return `${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect} is not tolerated${rules.length === 0 ? "" : ` (DeviceTaintRule ${rules.join(", ")} sets it)`}`;
  return cause;
}

function selectorText({
  expression,
  values,
  error,
  available,
}: NonNullable<DeviceRefusal["selector"]>): string {
  const read = Object.entries(values).map(([name, of]) =>
    of === null ? `${name} is missing` : `${name} = ${value(of)}`,
  );
  const has = [...(available?.attributes ?? []), ...(available?.capacity ?? [])];
  const rest = has.length > maxKeys ? ` and ${has.length - maxKeys} more` : "";
  const shown = has.length === 0 ? "none" : `${has.slice(0, maxKeys).join(", ")}${rest}`;
  const known = available === undefined ? "" : `; it has ${shown}`;
  const failed = error === undefined ? "" : `${error}: `;
  return `${failed}${expression}${read.length === 0 ? "" : ` [${read.join(", ")}]`}${known}`;
}

function capacityText({
  key,
  asked,
  counted: made,
  left,
  policy,
}: NonNullable<DeviceRefusal["capacity"]>): string {
  if (left === undefined) return `${asked} of ${key} is asked, it has none`;
  const rounded = made === undefined ? "" : ` (which counts as ${made})`;
  const accepted = policy === undefined ? "" : `; its request policy accepts ${policy}`;
  return `${asked} of ${key} is asked${rounded}, ${left} is left${accepted}`;
}
