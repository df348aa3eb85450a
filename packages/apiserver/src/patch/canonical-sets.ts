import { canonicalSets, type FieldSet, type FieldSetBuilder, leaf } from "./field-set.ts";
import { type PathElement, sortElements } from "./path-element.ts";

/** A node of a set and the ways on from it, by one element more and what is below that. */
interface Step {
  readonly ways: Map<string, Map<FieldSet, Step>>;
  /** The node itself, once somebody has asked for it. */
  set: FieldSet | undefined;
}

/** Maximum number of kept steps, since clients can make up any name; a long name counts for several. */
const maxSteps = 4096;
const usualLength = 64;
/** Nodes of more elements are rarely equal: they are not kept. */
const maxElements = 256;

/**
 * Nodes in canonical order and frozen, by how they were put together: objects that are made alike, as the pods of a
 * template are, share them, and they are not even built again.
 */
export class Nodes {
  readonly #prefix: string;
  readonly #member: boolean;
  #count = 0;
  #start = stepTo(leaf);

  /** `prefix`: what stands before the names of elements. `member`: the node belongs to the set itself. */
  constructor(prefix: string, member: boolean) {
    this.#prefix = prefix;
    this.#member = member;
  }

  /** The node of the elements of those names, each with what is below it. */
  of(names: readonly string[], below: readonly FieldSet[]): FieldSet {
    if (names.length > maxElements) return this.#build(names, below);
    let step = this.#start;
    for (const [i, name] of names.entries()) step = this.#next(step, name, below[i]!);
    if (step.set === undefined) {
      step.set = this.#build(names, below);
      this.#count += Math.floor(names.length / usualLength);
    }
    return step.set;
  }

  #next(from: Step, name: string, below: FieldSet): Step {
    let byBelow = from.ways.get(name);
    if (byBelow === undefined) {
      byBelow = new Map();
      from.ways.set(name, byBelow);
    }
    const known = byBelow.get(below);
    if (known !== undefined) return known;
    const step = stepTo(undefined);
    byBelow.set(below, step);
    this.#count += 1 + Math.floor(name.length / usualLength);
    if (this.#count > maxSteps) {
      this.#start = stepTo(leaf);
      this.#count = 0;
    }
    return step;
  }

  #build(names: readonly string[], below: readonly FieldSet[]): FieldSet {
    const node: FieldSetBuilder = this.#member ? { ".": leaf } : {};
    const elements = names.map((name) => `${this.#prefix}${name}`);
    if (below.every((set) => set === leaf)) {
      for (const element of sortElements(elements)) node[element] = leaf;
    } else {
      const parts = new Map<PathElement, FieldSet>();
      for (const [i, element] of elements.entries()) parts.set(element, below[i]!);
      for (const element of sortElements([...parts.keys()])) {
        node[element] = parts.get(element) as FieldSetBuilder;
      }
    }
    canonicalSets.add(node);
    return Object.freeze(node);
  }
}

const stepTo = (set: FieldSet | undefined): Step => ({ ways: new Map(), set });

const members = new Nodes("", true);
const others = new Nodes("", false);

/** The set with its elements in canonical order, all the way down; equal sets are mostly the same object. */
export function encodeFieldSet(set: FieldSet): FieldSet {
  if (set === leaf || canonicalSets.has(set)) return set;
  const names: string[] = [];
  const below: FieldSet[] = [];
  for (const element in set) {
    if (element === ".") continue;
    names.push(element);
    below.push(encodeFieldSet(set[element] as FieldSet));
  }
  return ("." in set ? members : others).of(names, below);
}
