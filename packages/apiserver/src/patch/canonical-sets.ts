import { canonicalSets, type FieldSet, type FieldSetBuilder, leaf } from "./field-set.ts";
import { type PathElement, sortElements } from "./path-element.ts";

/** A node of a set, and the steps to nodes with one more element and its children. */
interface Step {
  readonly ways: Map<string, Map<FieldSet, Step>>;
  /** The node itself, created on first use. */
  set: FieldSet | undefined;
}

/**
 * Maximum number of cached steps, so that names chosen by clients do not accumulate; a long one counts as
 * several.
 */
const maxSteps = 4096;
const usualLength = 64;
/** Nodes with more elements are too rarely equal to be cached. */
const maxCachedElements = 256;

/**
 * Interned nodes, in canonical order and frozen, by their elements: objects that are created alike, such as
 * the pods of a template, share them and need not build them again.
 */
export class NodeCache {
  readonly #prefix: string;
  readonly #member: boolean;
  #count = 0;
  #start = stepTo(leaf);

  /** `prefix`: the prefix of element names. `member`: the node belongs to the set itself. */
  constructor(prefix: string, member: boolean) {
    this.#prefix = prefix;
    this.#member = member;
  }

  /** Returns the node with elements of these names and their children. */
  of(names: readonly string[], below: readonly FieldSet[]): FieldSet {
    if (names.length > maxCachedElements) return this.#build(names, below);
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

const members = new NodeCache("", true);
const others = new NodeCache("", false);

/**
 * Returns the set with its elements in canonical order at all levels; equal sets are usually the same object.
 */
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
