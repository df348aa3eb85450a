import { humanDuration } from "@dray/api";
import { columns } from "../text/columns.ts";
import { names } from "../text/words.ts";
import type { TopData } from "./data.ts";
import type { Counts, HeadroomData } from "./rows.ts";

const dash = (text: string): string => text || "-";
const yesNo = (count: number): string => (count === 0 ? "-" : String(count));

/** Formats the tables. */
export function topText(data: TopData, now: number): string {
  switch (data.what) {
    case "devices":
      return table(
        ["DEVICE", "NODE", "STATE", "HELD BY", "REMARK"],
        data.devices.map(({ device, node, state, heldBy, health, reason, sharesCountersWith }) => [
          device,
          node ?? "-",
          state,
          dash(heldBy.map(holderText).join(", ")),
          dash(
            [
              health === "Unhealthy" ? "unhealthy" : "",
              state === "allocated" ? "" : (reason ?? ""),
              sharesCountersWith.length > 0
                ? `shares counters with ${names(sharesCountersWith.map((id) => id.slice(id.lastIndexOf("/") + 1)))}`
                : "",
            ]
              .filter((part) => part !== "")
              .join("; "),
          ),
        ]),
        "no driver publishes devices",
      );
    case "nodes":
      return `${table(
        ["NODE", ...countTitles, "CLAIMS"],
        data.nodes.map((row) => [row.node ?? "(several)", ...countCells(row), yesNo(row.claims.length)]),
        "there are no nodes",
      )}${countNote(data.nodes)}`;
    case "classes":
      return `${table(
        ["CLASS", "FREE", "ALLOCATED", "PENDING", "HEADROOM"],
        data.classes.map(({ class: name, free, allocated, pending, headroom }) => [
          name,
          String(free),
          String(allocated),
          String(pending),
          headroomText(headroom),
        ]),
        "there are no classes",
      )}${
        data.templates.length === 0
          ? ""
          : `\n${table(
              ["TEMPLATE", "CLASSES", "HEADROOM"],
              data.templates.map(({ template, classes, headroom }) => [
                template,
                dash(classes.join(", ")),
                headroomText(headroom),
              ]),
              "",
            )}`
      }`;
    case "claims":
      return table(
        ["CLAIM", "STATE", "CLASSES", "DEVICES", "NODE", "PODS", "AGE"],
        data.claims.map(({ claim, state, classes, devices, nodes, pods, created }) => [
          claim,
          state,
          dash(names(classes)),
          dash(names(devices)),
          dash(names(nodes)),
          dash(names(pods)),
          created === null ? "-" : humanDuration(now - Date.parse(created)),
        ]),
        "there are no claims",
      );
    case "namespaces":
      return table(
        ["NAMESPACE", "CLAIMS", "PENDING", "DEVICES", "SHARES", "BY CLASS"],
        data.namespaces.map(({ namespace, claims, pending, devices, shares, classes }) => [
          namespace,
          String(claims),
          yesNo(pending),
          yesNo(devices),
          yesNo(shares),
          dash(
            Object.entries(classes)
              .map(([name, count]) => `${name} ${count}`)
              .join(", "),
          ),
        ]),
        "there are no claims",
      );
  }
}

function table(titles: readonly string[], rows: readonly string[][], empty: string): string {
  return rows.length === 0 ? `${empty}\n` : columns([titles, ...rows]);
}

const holderText = ({ claim, adminAccess, consumedCapacity, pods }: HolderRow): string => {
  const amounts = Object.entries(consumedCapacity ?? {}).map(([key, amount]) => `${key} ${amount}`);
  const remarks = [...(adminAccess ? ["admin"] : []), ...amounts];
  const detail = remarks.length === 0 ? "" : ` (${remarks.join(", ")})`;
  return `${claim}${detail}${pods.length === 0 ? "" : ` for ${names(pods.map((pod) => pod.split("/")[1]!))}`}`;
};

type HolderRow = Extract<TopData, { what: "devices" }>["devices"][number]["heldBy"][number];

const countTitles = ["DEVICES", "FREE", "PARTLY", "ALLOCATED", "TAINTED", "UNHEALTHY", "WASTE", "UNUSABLE"];

const countCells = (row: Counts): string[] => [
  String(row.units),
  yesNo(row.free),
  yesNo(row.partly),
  yesNo(row.allocated),
  yesNo(row.tainted),
  yesNo(row.unhealthy),
  yesNo(row.waste),
  yesNo(row.unusable),
];

/** Partitions are alternatives, of which only some can be allocated. */
function countNote(rows: readonly Counts[]): string {
  const [units, devices] = [
    rows.reduce((sum, row) => sum + row.units, 0),
    rows.reduce((sum, row) => sum + row.devices, 0),
  ];
  if (units === devices) return "";
  return `\n${devices} devices are published; those that share counters are counted as one.\n`;
}

function headroomText(headroom: HeadroomData | null): string {
  if (headroom === null) return "any number";
  const { count, isLowerBound, nodes } = headroom;
  const where = Object.entries(nodes).map(([node, own]) => `${node} ${own}`);
  const detail = where.length === 0 ? "" : ` (${names(where)})`;
  return `${isLowerBound ? "at least " : ""}${count}${detail}`;
}
