import { type KindRow, kindRows } from "@dray/api/schema";
import { systemClock } from "@dray/client";
import { Target } from "../fuzz/target.ts";
import { Examples, type Tree } from "./examples.ts";
import { type Place, placesOf } from "./places.ts";
import {
  collectionOf,
  named,
  type Operation,
  operationsOf,
  type Subject,
  send,
  titleOf,
} from "./requests.ts";
import { type Work, WorkCounter } from "./work.ts";

/** Work that grows faster than the number of entries. */
export interface Finding {
  readonly title: string;
  /** Place of the source, with the part of its work that grows with the square of the entries. */
  readonly places: readonly { readonly name: string; readonly factor: number }[];
}

export interface SearchOptions {
  /** Texts of which a title has to have one; all if empty. */
  readonly names: readonly string[];
  /** Which of how many parts is searched, counted from 1. */
  readonly part: readonly [number, number];
  readonly report: (finding: Finding) => void;
  /** Called for each place that has been measured, with the statuses of the responses by operation. */
  readonly progress: (title: string, statuses: ReadonlyMap<string, number>) => void;
}

/** Entries of the objects: work that grows with them has differences that are equal. */
const step = 64;
/** Minimum factor of the square: less is that of sorting. */
const minFactor = 0.4;
/** Kinds that are not requested, or that the server makes itself. */
const unserved: ReadonlySet<string> = new Set([
  "PartialObjectMetadata",
  "NodeMetrics",
  "PodMetrics",
  "ComponentStatus",
  "RangeAllocation",
  "Eviction",
  "Binding",
  "Scale",
  "TokenRequest",
]);

/** A kind, and the places that are made long at once. */
export type Choice = Pick<Subject, "row" | "places">;

/**
 * Objects that the search measures: each list and map by itself, in the first kind that has the field, and
 * for each kind all lists and maps together that its largest example has, for work that grows with their
 * product.
 */
export function choices(names: readonly string[], examples: Examples): readonly Choice[] {
  const seen = new Set<string>();
  return kindRows
    .filter(({ kind }) => !unserved.has(kind))
    .flatMap((row): Choice[] => {
      const places = placesOf(row);
      const [largest] = examples.bodiesOf(row);
      const [first, ...others] = places.filter((place) => isIn(largest!, place));
      return [
        ...places.map((place): Choice => ({ row, places: [place] })),
        ...(first === undefined || others.length === 0 ? [] : [{ row, places: [first, ...others] } as const]),
      ];
    })
    .filter((choice) => {
      if (names.length > 0) return names.some((name) => titleOf(choice).includes(name));
      if (choice.places.length > 1) return true;
      const [{ id }] = choice.places;
      if (seen.has(id)) return false;
      seen.add(id);
      return true;
    });
}

function isIn(body: Tree, { path }: Place): boolean {
  let value: unknown = body;
  for (const segment of path) {
    if (typeof value !== "object" || value === null) return false;
    value = segment.step === "field" ? (value as Tree)[segment.name] : Object.values(value)[0];
  }
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

/** Reports all that grows faster than it should. */
export async function search(options: SearchOptions): Promise<void> {
  const examples = new Examples();
  const counter = await WorkCounter.start();
  let target: Target | undefined;
  let base: Tree | undefined;
  let lastRow: KindRow | undefined;
  let index = 0;
  const [part, parts] = options.part;
  for (const { row, places } of choices(options.names, examples)) {
    if (kindRows.indexOf(row) % parts !== part - 1) continue;
    if (row !== lastRow || target === undefined) {
      await target?.close();
      target = await startTarget();
      base = await validBase(target, row, examples);
      lastRow = row;
    }
    index++;
    await measure({ counter, target, row, base: base!, places, examples, index }, options);
  }
  await target?.close();
  counter.stop();
}

/** No request pauses: what is begun again after a pause would be counted twice. */
async function startTarget(): Promise<Target> {
  const target = await Target.start({ clock: systemClock, elapsed: () => 0 });
  const core = "/api/v1/namespaces/default";
  const quota = {
    metadata: { name: "growth" },
    spec: { hard: { pods: "1000000", "requests.cpu": "1000000" } },
  };
  const limits = {
    metadata: { name: "growth" },
    spec: { limits: [{ type: "Container", default: { cpu: "1m" }, defaultRequest: { cpu: "1m" } }] },
  };
  for (const [path, body] of [
    ["resourcequotas", quota],
    ["limitranges", limits],
  ] as const)
    await target.ask(send("POST", `${core}/${path}`, body));
  return target;
}

/** The first body of the kind that the server accepts; else the first. */
async function validBase(target: Target, row: KindRow, examples: Examples): Promise<Tree> {
  const bodies = examples.bodiesOf(row);
  for (const body of bodies) {
    const name = nameFor(row, body, 0);
    const object = named(body, row, name);
    try {
      const { status } = await target.ask(send("POST", collectionOf(row), object));
      if (status === 201) {
        await target.ask(send("DELETE", `${collectionOf(row)}/${name}`, { gracePeriodSeconds: 0 }));
        return object;
      }
    } catch {
      // An odd body.
    }
  }
  return named(bodies[0]!, row, "growth");
}

/** Some kinds have names that follow from their content. */
function nameFor({ kind }: KindRow, body: Tree, index: number): string {
  const known = (body["metadata"] as { name?: unknown } | undefined)?.name;
  const fixed = ["CustomResourceDefinition", "APIService", "IPAddress", "CSINode", "ClusterTrustBundle"];
  return fixed.includes(kind) && typeof known === "string" ? known : `growth${index}`;
}

interface Measured {
  readonly counter: WorkCounter;
  readonly target: Target;
  readonly row: KindRow;
  readonly base: Tree;
  readonly places: Subject["places"];
  readonly examples: Examples;
  readonly index: number;
}

/** The statuses of the responses by operation. */
type Statuses = Map<string, number>;

async function ask(target: Target, { name, sent }: Operation, title: string): Promise<number> {
  try {
    return (await target.ask(sent)).status;
  } catch (error) {
    throw new Error(`${title}, ${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function measure(one: Measured, options: SearchOptions): Promise<void> {
  const title = titleOf(one);
  const statuses: Statuses = new Map();
  let turn = 0;
  const run = async (count: number): Promise<void> => {
    const name = nameFor(one.row, one.base, one.index * 10 + turn++);
    const base = named(one.base, one.row, name);
    for (const operation of operationsOf({ ...one, base, name }, count))
      statuses.set(operation.name, await ask(one.target, operation, title));
  };
  // Code is compiled, and caches are filled.
  await run(1);
  const workOf = (count: number): Promise<Work> => one.counter.during(() => run(count));
  const fixed = await workOf(1);
  const squaresOf = async (steps: Steps): Promise<ReadonlyMap<string, number>> =>
    squares(
      fixed,
      [await workOf(steps[0] * step), await workOf(steps[1] * step), await workOf(steps[2] * step)],
      steps,
    );
  const suspected = await squaresOf([1, 2, 3]);
  options.progress(title, statuses);
  if (suspected.size === 0) return;
  // A limit that some of the objects exceed looks like a square, but not for larger ones again.
  const confirmed = await squaresOf([3, 5, 7]);
  const places = [...confirmed]
    .filter(([name]) => suspected.has(name))
    .map(([name, factor]) => ({ name, factor }))
    .sort((a, b) => b.factor - a.factor);
  if (places.length > 0) options.report({ title, places });
}

type Steps = readonly [number, number, number];

/** Places of the source whose work grows with the square of the entries; `fixed` is that of one entry. */
function squares(fixed: Work, works: readonly Work[], steps: Steps): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const name of works[2]!.keys()) {
    const [few, more, most] = works.map((work) => (work.get(name) ?? 0) - (fixed.get(name) ?? 0)) as [
      number,
      number,
      number,
    ];
    // V8 now and then loses counts of a function that it compiles: the middle must not be too small.
    if (more * steps[0] < few * steps[1]) continue;
    const factor = (most - 2 * more + few) / (2 * ((steps[1] - steps[0]) * step) ** 2);
    if (factor > minFactor) found.set(name, factor);
  }
  return found;
}
