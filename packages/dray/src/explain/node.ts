import type { Node } from "@dray/api/core/v1";
import { hasClaims, isPodTerminal } from "@dray/api/pod";
import { closedReason } from "../inventory/allocator.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { nameOf } from "../manifests/place.ts";
import { counted, names } from "../text/words.ts";
import { countsOf, deviceRow, headroomData } from "../top/rows.ts";
import type { Explained, Wait } from "./data.ts";
import { type Scene, wait } from "./scene.ts";
import { sinceOf } from "./surroundings.ts";

type Report = Omit<Explained, "version" | "rights">;

/** Explains the devices of a node, their consumers, and problems. */
export function explainNode(node: Node, scene: Scene, inventory: Inventory): Report {
  const { world } = scene;
  const { name } = node.metadata;
  const units = inventory.units.filter(({ devices }) => devices.some((device) => device.node === name));
  const counts = countsOf(units);
  const pods = world
    .all("Pod")
    .filter(({ object }) => object.spec.nodeName === name && !isPodTerminal(object))
    .map(({ object }) => object);
  const waits = waitsOf(node, scene, inventory);
  const closed = closedReason(node.spec);
  const known = [...inventory.known.values()].filter(
    (device) => device.node === name || device.node === undefined,
  );
  const classes = inventory.shapes.filter(({ kind }) => kind === "DeviceClass");
  const headroom = classes.map((shape) => [shape.name, headroomData(inventory.headroom(shape, [node]))]);
  const free = counted(counts.free, "device");
  return {
    kind: "Node",
    namespace: null,
    name,
    state: waits.some(({ for: what }) => what === "node")
      ? "not-ready"
      : closed === undefined
        ? "open"
        : "closed",
    summary: `node ${name} has ${counted(counts.units, "device")}, ${free} free${closed === undefined ? "" : `; no new pod goes there: ${closed}`}`,
    waits,
    placement: null,
    claims: [],
    devices: units.flatMap(({ devices }) => devices.map((device) => deviceRow(device, devices))),
    counts,
    headroom: Object.fromEntries(headroom),
    facts: [
      {
        name: "drivers",
        value:
          names([...new Set(known.filter(({ node }) => node === name).map(({ driver }) => driver))]) ||
          "none",
      },
      { name: "pods", value: String(pods.length) },
      {
        name: "pods with claims",
        value: names(pods.filter(hasClaims).map(nameOf)) || "none",
      },
    ],
  };
}

function waitsOf(node: Node, { surroundings }: Scene, inventory: Inventory): Wait[] {
  const { name } = node.metadata;
  const conditions = node.status?.conditions ?? [];
  const bad = conditions.filter(({ type, status }) =>
    type === "Ready" ? status !== "True" : status === "True",
  );
  const pools = new Set(
    [...inventory.known.values()]
      .filter((device) => device.node === name)
      .flatMap(({ poolProblem }) => poolProblem ?? []),
  );
  const failed = surroundings.events
    .filter(({ reason }) => reason === "FailedUnprepareDynamicResources")
    .slice(0, 1);
  return [
    ...bad.map(({ type, status, reason = "", message = "", lastTransitionTime }) =>
      wait("node", `condition ${type} is ${status}: ${[reason, message].filter((part) => part).join(": ")}`, {
        since: lastTransitionTime === undefined ? null : String(lastTransitionTime),
      }),
    ),
    ...[...pools].map((message) => wait("pool", message)),
    ...failed.map((event) => wait("unprepare-failing", event.message ?? "", { since: sinceOf(event) })),
  ];
}
