import type { KubeObject } from "@dray/api";
import { decodeBody } from "@dray/api/codec";
import { type Located, labelOfObject } from "./place.ts";
import { type World, worldRow } from "./world.ts";

/** An object that an answer leaves out, since reading it fails. */
export interface Fault {
  readonly object: KubeObject;
  /** `Pod default/a` */
  readonly label: string;
  /** The error, in one line. */
  readonly message: string;
}

/** An answer from the objects that can be read. */
export interface Readable<T> {
  readonly answer: T;
  readonly faults: readonly Fault[];
}

/** Reports whether an error is the answer itself, such as that a named object does not exist. */
export type IsAnswer = (error: unknown) => boolean;

const never: IsAnswer = () => false;

/**
 * Computes an answer. If that throws, finds the objects that cause it, and computes the answer without them:
 * one object with an unexpected value does not end the answer about all others.
 */
export function answerWithoutFaults<T>(
  world: World,
  compute: (world: World) => T,
  isAnswer: IsAnswer = never,
): Readable<T> {
  const search = searchFaults<T>(world, isAnswer);
  let step = search.next();
  while (step.done !== true) step = search.next(attempt(step.value, compute));
  return step.value;
}

/** The same for an answer that is computed asynchronously. */
export async function awaitWithoutFaults<T>(
  world: World,
  compute: (world: World) => Promise<T>,
  isAnswer: IsAnswer = never,
): Promise<Readable<T>> {
  const search = searchFaults<T>(world, isAnswer);
  let step = search.next();
  while (step.done !== true)
    step = search.next(
      await compute(step.value).then(
        (answer): Attempt<T> => ({ answer }),
        (error: unknown): Attempt<T> => ({ error }),
      ),
    );
  return step.value;
}

/** Names an object that an answer leaves out, for people. */
const faultText = ({ label, message }: Fault): string => `${label} cannot be read: ${message}`;

type Attempt<T> = { readonly answer: T } | { readonly error: unknown };

function attempt<T>(world: World, compute: (world: World) => T): Attempt<T> {
  try {
    return { answer: compute(world) };
  } catch (error) {
    return { error };
  }
}

/** Maximum number of searches; after them the error ends the answer. */
const maxSearches = 20;

/** Maximum number of objects that fail only together. */
const maxTogether = 8;

/** Yields the worlds to try, and expects what came of each. */
type Search<T> = Generator<World, T, Attempt<unknown>>;

function* searchFaults<T>(world: World, isAnswer: IsAnswer): Generator<World, Readable<T>, Attempt<T>> {
  const faults: Fault[] = [];
  let { objects } = world;
  for (let searches = 0; ; searches++) {
    const whole = yield world.of(objects);
    if ("answer" in whole) return { answer: whole.answer, faults };
    // The answer may be about an object that was left out.
    if (isAnswer(whole.error)) throw faults[0] === undefined ? whole.error : new Error(faultText(faults[0]));
    if (searches === maxSearches) throw whole.error;
    const found = yield* failingObjects(world, objects, isAnswer) as Search<Located[]>;
    const culprit = culpritOf(found);
    if (culprit === undefined) throw whole.error;
    faults.push(faultOf(culprit, whole.error));
    const rest = objects.filter((each) => each !== culprit);
    // A program that has written one odd object has often written several: each is tried alone with the
    // others.
    const others = found.filter((each) => each !== culprit);
    const alike = new Set<Located>();
    for (const each of rest) {
      if (each.object.kind !== culprit.object.kind || others.includes(each)) continue;
      const tried = yield world.of([...others, each]);
      if ("answer" in tried || isAnswer(tried.error)) continue;
      alike.add(each);
      faults.push(faultOf(each, tried.error));
    }
    objects = rest.filter((each) => !alike.has(each));
  }
}

/**
 * Returns a smallest set of objects that fails: the last object of the shortest failing prefix belongs to it,
 * then the same with it in front, until the set alone fails.
 */
function* failingObjects(
  world: World,
  objects: readonly Located[],
  isAnswer: IsAnswer,
): Search<readonly Located[]> {
  const found: Located[] = [];
  function* fails(count: number): Search<boolean> {
    const tried = yield world.of([...found, ...objects.slice(0, count)]);
    return "error" in tried && !isAnswer(tried.error);
  }
  let end = objects.length;
  while (found.length < maxTogether && !(yield* fails(0))) {
    // Invariant: `low` objects do not fail, `high` objects do.
    let [low, high] = [0, end];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (yield* fails(middle)) high = middle;
      else low = middle;
    }
    const last = objects[high - 1];
    if (last === undefined) break;
    found.push(last);
    end = high - 1;
  }
  return found;
}

/** Returns the object of the set that the schema rejects; else the one that was read last. */
const culpritOf = (found: readonly Located[]): Located | undefined =>
  found.find(({ object }) => isOdd(object)) ?? found[0];

function isOdd(object: KubeObject): boolean {
  try {
    decodeBody({ tree: object, duplicates: [], typed: false }, worldRow(object));
    return false;
  } catch {
    return true;
  }
}

function faultOf({ object }: Located, error: unknown): Fault {
  const message = error instanceof Error ? error.message : String(error);
  return { object, label: labelOfObject(object), message: message.split("\n", 1)[0] ?? "" };
}
