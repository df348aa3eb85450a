import { canonicalSets, type FieldSet, type FieldSetBuilder, leaf } from "./field-set.ts";
import { type PathElement, sortElements } from "./path-element.ts";

/** A node of a set and the way on from it, by one element more and what is below that. */
export interface Step {
  /** Undefined at the beginning. */
  readonly from: Step | undefined;
  readonly name: string;
  readonly below: FieldSet;
  readonly ways: Map<string, Map<FieldSet, Step>>;
  /** The node itself, once somebody has asked for it. */
  set: FieldSet | undefined;
}

/** So many steps are kept, so that what clients make up does not stay. */
const mostSteps = 4096;

/**
 * Nodes in canonical order and frozen, by how they were put together: objects that are made alike, as the pods of a
 * template are, share them, and they are not even built again.
 */
export class Nodes {
  readonly #prefix: string;
  readonly #member: boolean;
  #count = 0;
  #start = first();

  /** `prefix`: what stands before the names of elements. `member`: the node belongs to the set itself. */
  constructor(prefix: string, member: boolean) {
    this.#prefix = prefix;
    this.#member = member;
  }

  /** The node without any elements. */
  get start(): Step {
    return this.#start;
  }

  next(from: Step, name: string, below: FieldSet): Step {
    let byBelow = from.ways.get(name);
    if (byBelow === undefined) {
      byBelow = new Map();
      from.ways.set(name, byBelow);
    }
    const known = byBelow.get(below);
    if (known !== undefined) return known;
    const step = { from, name, below, ways: new Map(), set: undefined };
    byBelow.set(below, step);
    if (++this.#count > mostSteps) {
      this.#start = first();
      this.#count = 0;
    }
    return step;
  }

  setOf(last: Step): FieldSet {
    last.set ??= this.#build(last);
    return last.set;
  }

  #build(last: Step): FieldSet {
    const parts = new Map<PathElement, FieldSet>();
    for (let step = last; step.from !== undefined; step = step.from) {
      parts.set(`${this.#prefix}${step.name}`, step.below);
    }
    const node: FieldSetBuilder = this.#member ? { ".": leaf } : {};
    for (const element of sortElements([...parts.keys()])) {
      node[element] = parts.get(element) as FieldSetBuilder;
    }
    canonicalSets.add(node);
    return Object.freeze(node);
  }
}

const first = (): Step => ({ from: undefined, name: "", below: leaf, ways: new Map(), set: leaf });

const members = new Nodes("", true);
const others = new Nodes("", false);

/** The set with its elements in canonical order, all the way down; equal sets are mostly the same object. */
export function encodeFieldSet(set: FieldSet): FieldSet {
  if (set === leaf || canonicalSets.has(set)) return set;
  const nodes = "." in set ? members : others;
  let step = nodes.start;
  for (const element in set) {
    if (element !== ".") step = nodes.next(step, element, encodeFieldSet(set[element] as FieldSet));
  }
  return nodes.setOf(step);
}
