import { columns } from "../columns.ts";
import { jsonText } from "../manifests/json-text.ts";
import { nameOf } from "../manifests/place.ts";
import type { NotHelped } from "./grow.ts";
import type { PlannedClaim, PlannedPod } from "./plan.ts";
import { counted, names, reasonLines } from "./reason.ts";
import type { Summary } from "./summary.ts";

/** More pods than that are not all listed. */
const mostPods = 100;
/** Of many pods, so many of each workload are. */
const mostAlike = 5;
/** So many reasons are told in full. */
const mostReasons = 20;
const everything = "-o json has them all";

/** The plan as a table, and why pods have no node. */
export function planText(pods: readonly PlannedPod[], summary: Summary): string {
  return `${tableText(pods)}${reasonsText(pods)}${summaryText(summary)}`;
}

function tableText(pods: readonly PlannedPod[]): string {
  if (pods.length === 0) return "";
  const rows = pods.length > mostPods ? foldedRows(pods) : pods.map(rowOf);
  const shown = rows.slice(0, mostPods);
  const rest = rows.length - shown.length;
  const more = rest === 0 ? "" : `and ${counted(rest, "more line")} (${everything})\n`;
  return `${columns([["POD", "STATUS", "NODE", "DEVICES"], ...shown])}${more}\n`;
}

const rowOf = (planned: PlannedPod): string[] => [
  nameOf(planned.pod),
  statusOf(planned),
  planned.node ?? "-",
  planned.claims.flatMap(deviceNames).join(", ") || "-",
];

/** The first pods of each workload that share their fate, then how many more there are; in the order of the pods. */
function foldedRows(pods: readonly PlannedPod[]): string[][] {
  const groups = Map.groupBy(pods, (planned) => {
    const { origin, running, place } = planned;
    // Pods that stand alone are told apart by their file, those that run not at all.
    const whose = running ? "" : origin.startsWith("Pod ") ? place.file : origin;
    return `${whose}\n${statusOf(planned)}`;
  });
  return [...groups.values()].flatMap((members) => {
    if (members.length <= mostAlike + 1) return members.map(rowOf);
    const rest = members.slice(mostAlike);
    const nodes = new Set(rest.flatMap(({ node }) => node ?? [])).size;
    const devices = rest.reduce((sum, { claims }) => sum + claims.flatMap(deviceNames).length, 0);
    const [{ origin, running }] = rest as [PlannedPod];
    const whose = running || origin.startsWith("Pod ") ? "" : ` of ${origin}`;
    return [
      ...members.slice(0, mostAlike).map(rowOf),
      [
        `... and ${rest.length} more${whose}`,
        statusOf(rest[0]!),
        nodes === 0 ? "-" : counted(nodes, "node"),
        devices === 0 ? "-" : counted(devices, "device"),
      ],
    ];
  });
}

/** Why pods have no node, those with the same reasons together. */
function reasonsText(pods: readonly PlannedPod[]): string {
  const left = [
    ...Map.groupBy(
      pods.filter(({ node }) => node === null),
      // Claims that are made for a pod are named after it.
      ({ origin, reason, explanation, pod }) => {
        const refusals = explanation?.refusals.map(({ claims, ...refusal }) => [
          refusal,
          claims?.map(({ requests }) => requests),
        ]);
        const whose = origin.startsWith("Pod ") ? "" : origin;
        return jsonText([whose, reason, refusals]).replaceAll(pod.metadata.name, "");
      },
    ).values(),
  ];
  const lines = left.slice(0, mostReasons).flatMap((members) => {
    const [{ reason, explanation }] = members as [PlannedPod];
    const more = explanation === null ? [] : reasonLines(explanation, reason ?? "");
    return [
      `${names(members.map(({ pod }) => nameOf(pod)))}: ${reason}`,
      ...more.map((line) => `  ${line}`),
      "",
    ];
  });
  const rest = left.slice(mostReasons).flat().length;
  if (rest > 0)
    lines.push(`${counted(rest, "more pod")} ${rest === 1 ? "does" : "do"} not fit (${everything})`, "");
  return lines.map((line) => `${line}\n`).join("");
}

function statusOf({ running, node, claims }: PlannedPod): string {
  // It is on its node, and will not start there without its devices.
  if (running) return claims.some(({ allocation }) => allocation === null) ? "bound" : "running";
  return node === null ? "does not fit" : "fits";
}

function deviceNames({ allocation }: PlannedClaim): string[] {
  return (allocation?.devices?.results ?? []).map(
    ({ driver, pool, device, adminAccess, consumedCapacity }) => {
      const shares = Object.entries(consumedCapacity ?? {}).map(([key, amount]) => `${key} ${amount}`);
      const remarks = [...(adminAccess === true ? ["admin"] : []), ...shares];
      return `${driver}/${pool}/${device}${remarks.length === 0 ? "" : ` (${remarks.join(", ")})`}`;
    },
  );
}

function summaryText({ pods, running, placed, unplaced, nodes, addedNodes }: Summary): string {
  const parts = [
    ...(running > 0 ? [`${running} running`] : []),
    ...(placed > 0 ? [`${placed} ${placed === 1 ? "fits" : "fit"}`] : []),
    ...(unplaced > 0 ? [`${unplaced} ${unplaced === 1 ? "does" : "do"} not fit`] : []),
  ];
  const what = parts.length === 0 ? "" : `: ${parts.join(", ")}`;
  return `${counted(pods, "pod")} on ${counted(nodes, "node")}${what}\n${addedNodes === undefined ? "" : growthText(addedNodes, unplaced)}`;
}

function growthText(
  { like, count, notHelped }: NonNullable<Summary["addedNodes"]>,
  unplaced: number,
): string {
  if (notHelped === undefined)
    return `${counted(count, "node")} like ${like} ${count === 1 ? "was" : "were"} added\n`;
  const needed =
    count > 0
      ? `${counted(count, "more node")} like ${like} ${count === 1 ? "is" : "are"} needed, and added here${unplaced > notHelped.length ? "; not all pods fit even so" : ""}\n`
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
