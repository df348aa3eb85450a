import { controllerOf } from "@dray/controllers/objects";
import { jsonText } from "../manifests/json-text.ts";
import { nameOf } from "../manifests/place.ts";
import type { LeftOut } from "../manifests/read.ts";
import { type Column, plainFormat, type TableFormat, table } from "../text/table.ts";
import { counted, names } from "../text/words.ts";
import type { NotHelped } from "./grow.ts";
import type { PlannedClaim, PlannedPod } from "./plan.ts";
import { reasonLines } from "./reason.ts";
import type { Summary } from "./summary.ts";
import { isBound } from "./units.ts";

/** Maximum number of pods that are all listed. */
const maxPods = 100;
/** Maximum number of listed pods of each workload, if there are many pods. */
const maxAlike = 5;
/** Maximum number of reasons in full. */
const maxReasons = 20;
const everything = "-o json has them all";

/** Pods and workloads that were left out of a plan because of problems. */
const withPods: ReadonlySet<string> = new Set([
  "Pod",
  "Deployment",
  "StatefulSet",
  "DaemonSet",
  "ReplicaSet",
  "Job",
]);

export interface PlanTextOptions {
  /** Wide: a row for each request of each pod, with its class. */
  readonly format?: TableFormat;
  /** Objects that were left out. */
  readonly leftOut?: readonly LeftOut[];
}

/** Formats the plan as a table, and why pods have no node. */
export function planText(
  pods: readonly PlannedPod[],
  summary: Summary,
  { format = plainFormat, leftOut = [] }: PlanTextOptions = {},
): string {
  const podsTable = format.wide ? wideTable(pods, leftOut, format) : tableText(pods, leftOut, format);
  if (!format.headers) return podsTable;
  return `${podsTable === "" ? "" : `${podsTable}\n`}${reasonsText(pods)}${summaryText(summary)}`;
}

function tableText(pods: readonly PlannedPod[], leftOut: readonly LeftOut[], format: TableFormat): string {
  const rows = [...(pods.length > maxPods ? foldedRows(pods) : pods.map(rowOf)), ...leftOutRows(leftOut, 2)];
  if (rows.length === 0) return "";
  const shown = rows.slice(0, maxPods);
  const rest = rows.length - shown.length;
  const more = rest === 0 ? "" : `and ${counted(rest, "more line")} (${everything})\n`;
  return `${table(podColumns, shown, format)}${more}`;
}

const podColumns: readonly (string | Column)[] = [
  { title: "POD", wraps: true },
  "STATUS",
  "NODE",
  { title: "DEVICES", wraps: true },
];

const leftOutRows = (leftOut: readonly LeftOut[], blanks: number): string[][] =>
  leftOut
    .filter(({ kind }) => withPods.has(kind))
    .map(({ label }) => [label.replace(/^Pod /, ""), "refused", ...Array<string>(blanks).fill("-")]);

const wideHeader = ["POD", "STATUS", "NODE", "FROM", "PRIORITY", "CLAIM", "REQUEST", "CLASS", "DEVICES"];

function wideTable(pods: readonly PlannedPod[], leftOut: readonly LeftOut[], format: TableFormat): string {
  const rows = [...pods.flatMap(wideRows), ...leftOutRows(leftOut, wideHeader.length - 2)];
  return rows.length === 0 ? "" : table(wideHeader, rows, format);
}

/** Returns a row for each request of each claim; the first row has the common cells. */
function wideRows(planned: PlannedPod): string[][] {
  const { pod, status, node, origin, claims } = planned;
  const owner = controllerOf(pod);
  const from = !origin.startsWith("Pod ")
    ? origin
    : owner === undefined
      ? "-"
      : `${owner.kind} ${owner.name}`;
  const first = [nameOf(pod), status, node ?? "-", from, String(pod.spec.priority ?? 0)];
  const taken = nodeResourcesText(planned);
  const rows = claims.flatMap((claim) => {
    const requests = [...claim.classes].flatMap(([request, deviceClass]) => {
      const devices = deviceNames(claim, request);
      // Only the chosen alternative is shown.
      if (devices.length === 0 && request.includes("/") && claim.allocation !== null) return [];
      return [[claim.name, request, deviceClass, devices.join(", ") || "-"]];
    });
    return requests.length > 0 ? requests : [[claim.name, "-", "-", "-"]];
  });
  for (const text of taken) rows.push(["-", "-", "-", text]);
  if (rows.length === 0) rows.push(["-", "-", "-", "-"]);
  return rows.map((row, i) => [...(i === 0 ? first : first.map(() => "")), ...row]);
}

const rowOf = (planned: PlannedPod): string[] => [
  nameOf(planned.pod),
  planned.status,
  planned.node ?? "-",
  [...planned.claims.flatMap((claim) => deviceNames(claim)), ...nodeResourcesText(planned)].join(", ") || "-",
];

/** Returns what the devices of the claims add to the requests of the pod. */
function nodeResourcesText({ claimResources }: PlannedPod): string[] {
  const amounts = Object.entries(claimResources).map(([name, amount]) => `${name} ${amount}`);
  return amounts.length === 0 ? [] : [`and of the node ${amounts.join(", ")}`];
}

/**
 * Returns the first pods of each workload with the same result, then the number of the others; in the order
 * of the pods.
 */
function foldedRows(pods: readonly PlannedPod[]): string[][] {
  const groups = Map.groupBy(pods, (planned) => {
    const { pod, origin, status, place } = planned;
    // Single pods are distinguished by file, placed ones not at all.
    const whose = isBound(pod) ? "" : origin.startsWith("Pod ") ? place.source.file : origin;
    return `${whose}\n${status}`;
  });
  return [...groups.values()].flatMap((members) => {
    if (members.length <= maxAlike + 1) return members.map(rowOf);
    const rest = members.slice(maxAlike);
    const nodes = new Set(rest.flatMap(({ node }) => node ?? [])).size;
    const devices = rest.reduce(
      (sum, { claims }) => sum + claims.flatMap((claim) => deviceNames(claim)).length,
      0,
    );
    const [{ pod, origin, status }] = rest as [PlannedPod];
    const whose = isBound(pod) || origin.startsWith("Pod ") ? "" : ` of ${origin}`;
    return [
      ...members.slice(0, maxAlike).map(rowOf),
      [
        `... and ${rest.length} more${whose}`,
        status,
        nodes === 0 ? "-" : counted(nodes, "node"),
        devices === 0 ? "-" : counted(devices, "device"),
      ],
    ];
  });
}

/** Formats why pods have no node, grouped by reason. */
function reasonsText(pods: readonly PlannedPod[]): string {
  const left = [
    ...Map.groupBy(
      pods.filter(({ node }) => node === null),
      // Generated claims have the name of their pod.
      ({ origin, reason, hints, explanation, pod }) => {
        const refusals = explanation?.refusals.map(({ claims, ...refusal }) => [
          refusal,
          claims?.map(({ requests }) => requests),
        ]);
        const whose = origin.startsWith("Pod ") ? "" : origin;
        return jsonText([whose, reason, hints, refusals]).replaceAll(pod.metadata.name, "");
      },
    ).values(),
  ];
  const lines = left.slice(0, maxReasons).flatMap((members) => {
    const [{ reason, hints, explanation }] = members as [PlannedPod];
    const more = explanation === null ? [] : reasonLines(explanation, reason ?? "");
    return [
      `${names(members.map(({ pod }) => nameOf(pod)))}: ${reason}`,
      ...hints.map((hint) => `  ${hint}`),
      ...more.map((line) => `  ${line}`),
      "",
    ];
  });
  const rest = left.slice(maxReasons).flat().length;
  if (rest > 0)
    lines.push(`${counted(rest, "more pod")} ${rest === 1 ? "does" : "do"} not fit (${everything})`, "");
  return lines.map((line) => `${line}\n`).join("");
}

/** Returns the devices of a claim, or of one of its requests. */
function deviceNames({ allocation }: PlannedClaim, request?: string): string[] {
  const results = allocation?.devices?.results ?? [];
  return (request === undefined ? results : results.filter((result) => result.request === request)).map(
    ({ driver, pool, device, adminAccess, consumedCapacity }) => {
      const shares = Object.entries(consumedCapacity ?? {}).map(([key, amount]) => `${key} ${amount}`);
      const remarks = [...(adminAccess === true ? ["admin"] : []), ...shares];
      return `${driver}/${pool}/${device}${remarks.length === 0 ? "" : ` (${remarks.join(", ")})`}`;
    },
  );
}

function summaryText(summary: Summary): string {
  const { pods, running, bound, placed, unplaced, pending, refused, leftOut, nodes, addedNodes } = summary;
  const parts = [
    [running, "running"],
    [bound, "bound"],
    [placed, placed === 1 ? "fits" : "fit"],
    [unplaced, unplaced === 1 ? "does not fit" : "do not fit"],
    [pending, "pending"],
    [refused, "refused"],
  ].flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]));
  const what = parts.length === 0 ? "" : `: ${parts.join(", ")}`;
  const without = leftOut === 0 ? "" : `; ${counted(leftOut, "object")} left out because of mistakes`;
  const growth = addedNodes === undefined ? "" : growthText(addedNodes, unplaced + pending + refused);
  return `${counted(pods, "pod")} on ${counted(nodes, "node")}${what}${without}\n${growth}`;
}

/** Says that another order of placing needs fewer nodes, or may. */
function orderText(count: number, fewest: NonNullable<Summary["addedNodes"]>["fewest"]): string {
  if (fewest === undefined || (fewest.isProven && fewest.count === count)) return "";
  const other =
    fewest.count < count
      ? `with the largest first ${fewest.count === 0 ? "none" : fewest.count} would do`
      : "another order may need fewer";
  return `\n(placing pods by priority, then as given, as the scheduler does; ${other})`;
}

function growthText(
  { like, count, notHelped, fewest }: NonNullable<Summary["addedNodes"]>,
  unplaced: number,
): string {
  if (notHelped === undefined)
    return `${counted(count, "node")} like ${like} ${count === 1 ? "was" : "were"} added\n`;
  const needed =
    count > 0
      ? `${counted(count, "more node")} like ${like} ${count === 1 ? "is" : "are"} needed, and added here${unplaced > notHelped.length ? "; not all pods fit even so" : ""}${orderText(count, fewest)}\n`
      : unplaced === 0
        ? "no more nodes are needed\n"
        : `more nodes like ${like} do not help\n`;
  const groups = Map.groupBy(notHelped, ({ reason, explanation }) =>
    jsonText([reason, explanation?.refusals.map(({ claims }) => claims?.map(({ requests }) => requests))]),
  );
  const why = [...groups.values()].flatMap((members) => {
    const [{ reason, explanation }] = members as [NotHelped];
    return [
      `no node like ${like} helps ${names(members.map(({ pod }) => pod))}: not even an empty one takes ${members.length === 1 ? "it" : "them"}: ${reason}`,
      ...(explanation === null ? [] : reasonLines(explanation, reason).map((line) => `  ${line}`)),
    ];
  });
  return [needed, ...why.map((line) => `${line}\n`)].join("");
}
