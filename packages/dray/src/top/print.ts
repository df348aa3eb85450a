import { humanDuration } from "@dray/api";
import { type Column, plainFormat, type TableFormat, table } from "../text/table.ts";
import { counted, names } from "../text/words.ts";
import type { TopData } from "./data.ts";
import type { Counts, DeviceRow, HeadroomData, NamespaceRow } from "./rows.ts";

/** Maximum number of rows, unless all are wanted. */
const maxRows = 50;
/** Maximum number of nodes that are named with their headroom. */
const maxNodes = 3;

export interface TopTextOptions {
  readonly format?: TableFormat;
  /** All rows, however many there are. */
  readonly all?: boolean;
}

const dash = (text: string): string => text || "-";
const yesNo = (count: number): string => (count === 0 ? "-" : String(count));
const long = (title: string, drop?: number): Column => ({
  title,
  wraps: true,
  ...(drop !== undefined && { drop }),
});

/** The name of a row, which is read best on one line. */
const name = (title: string): Column => ({ title, wraps: true, keeps: 44 });

/** Formats the tables. */
export function topText(
  data: TopData,
  now: number,
  { format = plainFormat, all = false }: TopTextOptions = {},
): string {
  const tables = new Tables(format, all);
  const list = (items: readonly string[]): string => dash(format.wide ? items.join(", ") : names(items));
  switch (data.what) {
    case "devices":
      return tables.text("devices", deviceColumns(data.devices), data.devices.map(deviceCells), {
        empty: "no driver publishes devices",
      });
    case "nodes":
      return nodesText(data, tables);
    case "classes": {
      const rows = data.classes.map(({ class: className, free, allocated, pending, headroom }) => [
        ...[className, String(free), String(allocated), String(pending)],
        headroomText(headroom, format),
      ]);
      const titles = [name("CLASS"), "FREE", "ALLOCATED", { title: "PENDING", drop: 1 }, long("HEADROOM")];
      const classes = tables.text("classes", titles, rows, { empty: "there are no classes" });
      // Rows without titles are of one kind; `top templates` lists the others.
      if (data.templates.length === 0 || !format.headers) return classes;
      return `${classes}\n${templatesText(data.templates, tables)}`;
    }
    case "templates":
      return templatesText(data.templates, tables);
    case "claims":
      return tables.text(
        "claims",
        [name("CLAIM"), "STATE", long("CLASSES", 3), long("DEVICES"), long("NODE", 2), long("PODS", 1), age],
        data.claims.map(({ claim, state, classes, devices, nodes, pods, created }) => [
          ...[claim, state, list(classes), list(devices), list(nodes), list(pods)],
          created === null ? "-" : humanDuration(now - Date.parse(created)),
        ]),
        { empty: "there are no claims" },
      );
    case "namespaces": {
      const cells = ({ claims, pending, devices, shares, classes }: Omit<NamespaceRow, "namespace">) => [
        ...[String(claims), yesNo(pending), yesNo(devices), yesNo(shares)],
        dash(
          Object.entries(classes)
            .map(([name, count]) => `${name} ${count}`)
            .join(", "),
        ),
      ];
      return tables.text(
        "namespaces",
        [
          name("NAMESPACE"),
          "CLAIMS",
          "PENDING",
          "DEVICES",
          { title: "SHARES", drop: 1 },
          long("BY CLASS", 2),
        ],
        data.namespaces.map((row) => [row.namespace, ...cells(row)]),
        { empty: "there are no claims", total: ["total", ...cells(data.total)] },
      );
    }
  }
}

const age: Column = { title: "AGE", drop: 4 };

/** Prints tables of at most `maxRows` rows, with a total. */
class Tables {
  readonly format: TableFormat;
  readonly #all: boolean;

  constructor(format: TableFormat, all: boolean) {
    this.format = format;
    this.#all = all || !format.headers;
  }

  text(
    what: string,
    titles: readonly (string | Column)[],
    rows: readonly string[][],
    { empty, total }: { readonly empty: string; readonly total?: string[] },
  ): string {
    const { headers } = this.format;
    if (rows.length === 0) return headers ? `${empty}\n` : "";
    const shown = this.#all ? rows : rows.slice(0, maxRows);
    const sum = total !== undefined && headers && rows.length > 1 ? [total] : [];
    const rest = rows.length - shown.length;
    const more = rest === 0 ? "" : `and ${rest} more ${what}: --all lists them, --sort-by and -l choose\n`;
    return `${table(titles, [...shown, ...sum], this.format)}${more}`;
  }
}

/** A pool has the name of its node, mostly: then the column would only repeat it. */
const deviceColumns = (devices: readonly DeviceRow[]): readonly (string | Column)[] => {
  const wide = devices.every(({ node, pool }) => node === pool);
  return [
    ...[name("DEVICE"), { ...long("NODE", 2), wide }, "STATE", long("HELD BY"), long("REMARK", 1)],
    ...[
      { title: "HEALTH", wide: true },
      { title: "TAINTS", wide: true },
    ],
  ];
};

function deviceCells(row: DeviceRow): string[] {
  const { device, node, state, heldBy, health, reason, taints, sharesCountersWith } = row;
  const others = sharesCountersWith.map((id) => id.slice(id.lastIndexOf("/") + 1));
  const remarks = [
    health === "Unhealthy" ? "unhealthy" : "",
    state === "allocated" ? "" : (reason ?? ""),
    others.length > 0 ? `shares counters with ${names(others)}` : "",
  ];
  return [
    ...[device, node ?? "-", state, dash(heldBy.map(holderText).join(", "))],
    dash(remarks.filter((part) => part !== "").join("; ")),
    ...[health ?? "-", dash(taints.join(", "))],
  ];
}

const holderText = ({ claim, adminAccess, consumedCapacity, pods }: DeviceRow["heldBy"][number]): string => {
  const amounts = Object.entries(consumedCapacity ?? {}).map(([key, amount]) => `${key} ${amount}`);
  const remarks = [...(adminAccess ? ["admin"] : []), ...amounts];
  const detail = remarks.length === 0 ? "" : ` (${remarks.join(", ")})`;
  const users = pods.map((pod) => pod.slice(pod.indexOf("/") + 1));
  return `${claim}${detail}${users.length === 0 ? "" : ` for ${names(users)}`}`;
};

/** The numbers that say least are left out first. */
const countColumns: readonly (string | Column)[] = [
  ...["DEVICES", "FREE", { title: "PARTLY", drop: 2 }, "ALLOCATED", { title: "TAINTED", drop: 3 }],
  ...[
    { title: "UNHEALTHY", drop: 4 },
    { title: "WASTE", drop: 5 },
    { title: "UNUSABLE", drop: 6 },
  ],
  ...[
    { title: "CLAIMS", drop: 1 },
    { title: "PUBLISHED", wide: true },
  ],
];

const countCells = (row: Counts, claims: number): string[] => [
  ...[String(row.units), yesNo(row.free), yesNo(row.partly), yesNo(row.allocated), yesNo(row.tainted)],
  ...[yesNo(row.unhealthy), yesNo(row.waste), yesNo(row.unusable), yesNo(claims), String(row.devices)],
];

function nodesText({ nodes, groups, total }: Extract<TopData, { what: "nodes" }>, tables: Tables): string {
  const claims = new Set(nodes.flatMap((row) => row.claims)).size;
  const sum = countCells(total, claims);
  const list =
    groups === undefined
      ? tables.text(
          "nodes",
          [name("NODE"), ...countColumns],
          nodes.map((row) => [row.node ?? "(several)", ...countCells(row, row.claims.length)]),
          { empty: "there are no nodes", total: ["total", ...sum] },
        )
      : tables.text(
          "groups",
          [name("GROUP"), "NODES", ...countColumns],
          groups.map((row) => [
            row.group ?? "(none)",
            String(row.nodes),
            ...countCells(row, row.claims.length),
          ]),
          {
            empty: "there are no nodes",
            total: ["total", String(groups.reduce((all, row) => all + row.nodes, 0)), ...sum],
          },
        );
  // Partitions are alternatives, of which only some can be allocated.
  if (total.units === total.devices || !tables.format.headers) return list;
  return `${list}\n${counted(total.devices, "device")} are published; those that share counters are counted as one.\n`;
}

function templatesText(
  templates: Extract<TopData, { what: "templates" }>["templates"],
  tables: Tables,
): string {
  const { format } = tables;
  return tables.text(
    "templates",
    [name("TEMPLATE"), long("CLASSES", 1), long("HEADROOM")],
    templates.map(({ template, classes, headroom }) => [
      template,
      dash(classes.join(", ")),
      headroomText(headroom, format),
    ]),
    { empty: "there are no templates" },
  );
}

function headroomText(headroom: HeadroomData | null, format: TableFormat): string {
  if (headroom === null) return "any number";
  const { count, isLowerBound, nodes } = headroom;
  const where = Object.entries(nodes).map(([node, own]) => `${node} ${own}`);
  const isLong = where.length > maxNodes && !format.wide;
  const detail = where.length === 0 ? "" : isLong ? ` on ${where.length} nodes` : ` (${where.join(", ")})`;
  return `${isLowerBound ? "at least " : ""}${count}${detail}`;
}
