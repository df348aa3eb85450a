/**
 * `node scripts/node24.js bench/allocator.ts [CASE...]`: how long our allocator takes, and beside it
 * Kubernetes' own library on the same input in the same run. Prints tables in Markdown. A case is a table's
 * name or a part of a row's.
 */
import type { ResourceSlice } from "@dray/api/resource/v1";
import { duration, heap, machine, markdown, median, ratio, timed } from "./allocator/clock.ts";
import {
  type Claims,
  eightDevices,
  type Fleet,
  type FleetOptions,
  fleet,
  oneDevice,
  onePartition,
} from "./allocator/fleet.ts";
import { goAllocates, goVisits, hasGo } from "./allocator/go.ts";
import type { Input } from "./allocator/objects.ts";
import { filled, holdersOf, keep, place, turns } from "./allocator/ours.ts";
import { rows } from "./allocator/table.ts";

type Chosen = (name: string) => boolean;

/** All tables, or those with a name that holds one of `names`. */
export function allocatorBench(names: readonly string[] = []): string {
  const chosen = (table: string): Chosen => {
    const whole = names.length === 0 || names.includes(table);
    return (name) => whole || names.some((part) => `${table}/${name}`.includes(part));
  };
  const go = hasGo() ? "" : " Go was not measured: no oracle (DRAY_ORACLE).";
  const parts = [
    searches(chosen("search")),
    placements(chosen("fleet")),
    growth(chosen("growth")),
    updates(chosen("update")),
    memory(chosen("memory")),
  ];
  return [`Medians, measured on ${machine}.${go}`, ...parts.filter((part) => part !== "")].join("\n\n");
}

function searches(chosen: Chosen): string {
  const lines = rows
    .filter(({ name }) => chosen(name))
    .map(({ name, what, large }) => {
      const { claims } = large;
      const node = large.nodes[0]!;
      const first = firstTime(large);
      const allocator = filled(large);
      const again = median(timed(() => void allocator.allocate(node, claims)));
      const go = goAllocates(large, 5);
      const goUs = go === undefined ? undefined : median(go.us);
      return [
        `${name}: ${what}`,
        String(turns(allocator, node, claims)),
        duration(first),
        duration(again),
        go === undefined ? "" : `${go.timedOut ? "over " : ""}${go.steps}`,
        `${go?.timedOut ? "over " : ""}${duration(goUs)}`,
        `${go?.timedOut ? "over " : ""}${ratio(goUs, first)}`,
      ];
    });
  if (lines.length === 0) return "";
  const head = ["search", "turns", "first time", "again", "Go: steps", "Go", "Go / first time"];
  return markdown(head, lines);
}

/** Microseconds of the first allocation that an allocator makes. */
function firstTime(input: Input): number {
  return median(
    Array.from({ length: 5 }, () => {
      const allocator = filled(input);
      const start = performance.now();
      allocator.allocate(input.nodes[0]!, input.claims);
      return (performance.now() - start) * 1000;
    }),
  );
}

interface Placement {
  readonly name: string;
  readonly what: string;
  readonly options: FleetOptions;
  readonly claims: Claims;
}

const gpus = { nodes: 5000, gpus: 8 };
const parts = { nodes: 700, gpus: 8, partitions: 7 };
const fleets: readonly Placement[] = [
  { name: "one-empty", what: "one device, empty", options: { ...gpus, load: 0 }, claims: oneDevice },
  { name: "one-half", what: "one device, half full", options: { ...gpus, load: 0.5 }, claims: oneDevice },
  { name: "one-99", what: "one device, 99 % full", options: { ...gpus, load: 0.99 }, claims: oneDevice },
  {
    name: "eight-empty",
    what: "eight that match, empty",
    options: { ...gpus, load: 0 },
    claims: eightDevices,
  },
  {
    name: "eight-half",
    what: "eight that match, first half of the nodes full",
    options: { ...gpus, load: 0.5, packed: true },
    claims: eightDevices,
  },
  {
    name: "eight-99",
    what: "eight that match, first 99 % of the nodes full",
    options: { ...gpus, load: 0.99, packed: true },
    claims: eightDevices,
  },
  {
    name: "partition-empty",
    what: "one partition, empty",
    options: { ...parts, load: 0 },
    claims: onePartition,
  },
  {
    name: "partition-half",
    what: "one partition, half full",
    options: { ...parts, load: 0.5 },
    claims: onePartition,
  },
  {
    name: "partition-99",
    what: "one partition, 99 % full",
    options: { ...parts, load: 0.99 },
    claims: onePartition,
  },
];

const devicesOf = ({ slices }: Fleet): number =>
  slices.reduce((sum, { spec }) => sum + (spec.devices ?? []).length, 0);
/** Most claims that are placed and kept, one after the other. */
const kept = 50;

interface Measured {
  readonly placed: number;
  readonly placedAndKept: number;
  readonly searched: number;
  /** Evaluations of selectors, of the first claim that is placed and of the second one. */
  readonly evaluations: readonly [number, number];
  /** Which node in the given order was the first that fits. */
  readonly position: number;
  readonly goSame: number | undefined;
  readonly goAll: number | undefined;
}

function measure(cluster: Fleet, claims: Claims, everyNode: boolean): Measured {
  const allocator = filled(cluster);
  const nodes = new Map(cluster.nodes.map((node) => [node.metadata.name, node]));
  let made = 0;
  const first = place(allocator, nodes, claims(made++));
  const once = allocator.statistics().evaluations;
  place(allocator, nodes, claims(made++));
  const twice = allocator.statistics().evaluations;
  const position = cluster.nodes.findIndex(({ metadata }) => metadata.name === first.node);
  const wanted = cluster.nodes.findIndex((node) => allocator.allocate(node, claims(0)).type === "allocated");
  if (position !== wanted)
    throw new Error(`placed on node ${position}, but node ${wanted} is the first that fits`);
  const placed = median(timed(() => void place(allocator, nodes, claims(made++))));
  const keeping: number[] = [];
  while (keeping.length < kept) {
    const own = claims(made++);
    const start = performance.now();
    const found = place(allocator, nodes, own);
    if (found.node === undefined) break;
    keep(allocator, own, found);
    keeping.push((performance.now() - start) * 1000);
  }
  const question = { ...cluster, claims: claims(0) };
  const same = goVisits({ ...question, nodes: cluster.nodes.slice(0, position + 1) }, 5);
  const all = everyNode ? goVisits(question, 3) : undefined;
  return {
    placed,
    placedAndKept: median(keeping),
    searched: first.searched,
    evaluations: [once, twice - once],
    position,
    goSame: same && median(same),
    goAll: all && median(all),
  };
}

function placements(chosen: Chosen): string {
  const lines = fleets
    .filter(({ name }) => chosen(name))
    .map(({ name, what, options, claims }) => {
      const cluster = fleet(options);
      const { placed, placedAndKept, searched, evaluations, position, goSame, goAll } = measure(
        cluster,
        claims,
        true,
      );
      return [
        `${name}: ${what}`,
        String(devicesOf(cluster)),
        String(position + 1),
        String(searched),
        evaluations.join(" / "),
        duration(placed),
        duration(placedAndKept),
        duration(goSame),
        duration(goAll),
        ratio(goSame, placed),
      ];
    });
  if (lines.length === 0) return "";
  const head = [
    "fleet",
    "devices",
    "first node that fits",
    "nodes asked",
    "evaluations",
    "placed",
    "placed and kept",
    "Go: up to that node",
    "Go: every node",
    "Go up to that node / placed",
  ];
  return markdown(head, lines);
}

function growth(chosen: Chosen): string {
  const lines = [500, 1000, 5000, 10_000, 50_000]
    .filter((devices) => chosen(String(devices)))
    .map((devices) => {
      const cluster = fleet({ nodes: Math.ceil(devices / 8), gpus: 8, load: 0.5 });
      const full = fleet({ nodes: Math.ceil(devices / 8), gpus: 8, load: 0.99, packed: true });
      const half = measure(cluster, oneDevice, false);
      const last = measure(full, eightDevices, false);
      return [
        String(devicesOf(cluster)),
        duration(half.placed),
        duration(half.goSame),
        duration(last.placed),
        String(last.searched),
        duration(last.goSame),
      ];
    });
  if (lines.length === 0) return "";
  const head = [
    "growth: devices",
    "one device, half full",
    "Go: up to that node",
    "eight, 99 % of the nodes full",
    "nodes asked",
    "Go: up to that node",
  ];
  return markdown(head, lines);
}

function updates(chosen: Chosen): string {
  if (!chosen("slice")) return "";
  const cluster = fleet({ ...gpus, load: 0.5 });
  const allocator = filled(cluster);
  const node = cluster.nodes[2500]!;
  const known = cluster.slices.find(({ spec }) => spec.nodeName === node.metadata.name)!;
  const changed = (round: number): ResourceSlice => ({
    ...known,
    metadata: { ...known.metadata, resourceVersion: String(round + 2) },
    spec: {
      ...known.spec,
      pool: { ...known.spec.pool, generation: round + 2 },
      devices: known.spec.devices!.map((device, i) => ({
        ...device,
        attributes: { ...device.attributes, index: { int: i + round } },
      })),
    },
  });
  const objects = Array.from({ length: 2001 }, (_, round) => changed(round));
  let next = 0;
  const update = (): void => allocator.update({ kind: "slice", object: objects[next++]!, deleted: false });
  const alone = median(timed(update));
  const withQuestion = median(
    timed((round) => {
      update();
      allocator.allocate(node, oneDevice(round));
    }),
  );
  const go = goVisits({ ...cluster, nodes: [node], claims: oneDevice(0) }, 5);
  return markdown(
    ["update: one slice of 40,000 devices", "time", "Go"],
    [
      ["the update", duration(alone), "no such thing: a new allocator for each pod"],
      ["the update, then one claim on its node", duration(withQuestion), duration(go && median(go))],
    ],
  );
}

function memory(chosen: Chosen): string {
  const kinds: readonly (readonly [name: string, options: FleetOptions, claims: Claims])[] = [
    ["devices", { ...gpus, load: 0 }, oneDevice],
    ["half", { ...gpus, load: 0.5 }, oneDevice],
    ["partitions", { ...parts, load: 0 }, onePartition],
  ];
  const lines = kinds
    .filter(([name]) => chosen(name))
    .map(([name, options, claims]) => {
      const cluster = fleet(options);
      const nodes = new Map(cluster.nodes.map((node) => [node.metadata.name, node]));
      // Warm-up: one-time work that does not depend on the size is not measured.
      const small = filled(fleet({ ...options, nodes: 4 }));
      place(small, nodes, claims(0));
      const holders = holdersOf(cluster.held);
      const before = heap();
      const allocator = filled(cluster, holders);
      for (const node of cluster.nodes) allocator.allocate(node, claims(0));
      place(allocator, nodes, claims(0));
      const bytes = heap() - before;
      const count = devicesOf(cluster);
      return [name, String(count), `${(bytes / count).toFixed(0)} bytes`, String(cluster.held.length)];
    });
  if (lines.length === 0) return "";
  return markdown(["memory", "devices", "per device, beyond the objects", "of them held"], lines);
}

if (import.meta.main) process.stdout.write(`${allocatorBench(process.argv.slice(2))}\n`);
