import { copyOf, isEmpty, isObject, type JsonObject } from "../json/values.ts";
import { canonicalElement, elementText, type PathElement, sortElements } from "./path-element.ts";
import type { TypeSchema } from "./type-schema.ts";

/**
 * A set of fields in the encoding of managedFields (FieldsV1): each key is a path element, its value the set
 * of its children. An element belongs to the set itself if it has no children, or if it contains ".".
 *
 * Sets are immutable; results share unchanged parts, down to identity, so that an operation without effect
 * returns its argument.
 */
export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

/** A set under construction. */
export interface FieldSetBuilder {
  [element: PathElement]: FieldSetBuilder;
}

/** The element that says that its parent belongs to the set itself. */
export const self = ".";
export const leaf: FieldSetBuilder = Object.freeze({});
export const emptySet: FieldSet = leaf;

/** Returns true if the set is empty. */
export function isEmptySet(set: FieldSet): boolean {
  return !hasBelow(set);
}

/** Reports whether the element with this node belongs to the set itself. */
function isMember(node: FieldSet | undefined): boolean {
  return node === leaf || (node !== undefined && (self in node || isEmpty(node)));
}

export function hasBelow(node: FieldSet): boolean {
  for (const element in node) if (element !== self) return true;
  return false;
}

/**
 * Adds the field at that path, and its children, to a set that was built only with this function. Nodes
 * without children are the shared `leaf`: checking nodes with thousands of elements for emptiness would take
 * too long.
 */
export function insertPath(set: FieldSetBuilder, path: readonly PathElement[], below: FieldSet = leaf): void {
  let node = set;
  for (let i = 0; i < path.length - 1; i++) {
    const element = path[i] as PathElement;
    let next = node[element];
    if (next === undefined) {
      next = {};
      node[element] = next;
    } else if (next === leaf) {
      next = { [self]: leaf };
      node[element] = next;
    }
    node = next;
  }
  const last = path.at(-1);
  if (last === undefined) return;
  const known = node[last];
  node[last] = (known === undefined ? below : unionNode(known, below)) as FieldSetBuilder;
}

/** Returns the set of the given paths. */
export function setOf(...paths: readonly (readonly PathElement[])[]): FieldSet {
  const set: FieldSetBuilder = {};
  for (const path of paths) insertPath(set, path);
  return set;
}

export function hasPath(set: FieldSet, path: readonly PathElement[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    node = node[element];
    if (node === undefined) return false;
  }
  return isMember(node);
}

/** Reports whether a top-level element belongs to the set. */
export function hasElement(set: FieldSet, element: PathElement): boolean {
  return isMember(set[element]);
}

/** Returns the set below an element; undefined if it is empty. */
export function below(set: FieldSet, element: PathElement): FieldSet | undefined {
  const node = set[element];
  return node !== undefined && hasBelow(node) ? node : undefined;
}

/** Returns the union of two sets. */
export function union(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right || !hasBelow(right)) return left;
  return hasBelow(left) ? united(left, right, false) : right;
}

/** Returns the union of two sets that are not empty; with `addsSelf` also ".", which the left one lacks. */
function united(left: FieldSet, right: FieldSet, addsSelf: boolean): FieldSet {
  let result = addsSelf ? withSelfFirst(left) : undefined;
  for (const element in right) {
    if (element === self) continue;
    const a = left[element];
    const b = right[element] as FieldSet;
    const node = a === undefined ? b : unionNode(a, b);
    if (node === a) continue;
    result ??= builderOf(left);
    result[element] = node as FieldSetBuilder;
  }
  return result ?? left;
}

/** Returns the union of many sets: pairwise unions would copy the result for each. */
export function unionAll(sets: readonly FieldSet[]): FieldSet {
  const [first = emptySet] = sets;
  if (sets.every((set) => set === first)) return first;
  const parts = new Map<PathElement, FieldSet[]>();
  for (const set of sets) {
    for (const element in set) {
      if (element === self) continue;
      const nodes = parts.get(element);
      if (nodes === undefined) parts.set(element, [set[element] as FieldSet]);
      else nodes.push(set[element] as FieldSet);
    }
  }
  const result: FieldSetBuilder = {};
  for (const [element, nodes] of parts) {
    const below = unionAll(nodes);
    const member = nodes.some(isMember);
    result[element] = withSelf(below, member && hasBelow(below)) as FieldSetBuilder;
  }
  return result;
}

function unionNode(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left;
  const member = isMember(left) || isMember(right);
  if (!hasBelow(right)) return withSelf(left, hasBelow(left) && member);
  if (!hasBelow(left)) return withSelf(right, member);
  return united(left, right, member && !(self in left));
}

/** Returns the node with or without "."; `node` itself if unchanged. */
function withSelf(node: FieldSet, member: boolean): FieldSet {
  if (self in node === member) return node;
  if (member) return withSelfFirst(node);
  const copy = builderOf(node);
  delete copy[self];
  return copy;
}

/** Returns a copy with "." before the elements of a node that lacks it. */
export function withSelfFirst(node: FieldSet): FieldSetBuilder {
  const copy: FieldSetBuilder = { [self]: leaf };
  for (const element in node) copy[element] = node[element] as FieldSetBuilder;
  return copy;
}

const builderOf = (set: FieldSet): FieldSetBuilder => copyOf(set) as FieldSetBuilder;

/** Returns a node with these children and membership; undefined if both are empty. */
function nodeOf(below: FieldSet, member: boolean): FieldSet | undefined {
  if (hasBelow(below)) return withSelf(below, member);
  return member ? leaf : undefined;
}

/** Reports whether the first set is a subset of the second. */
export function isSubset(set: FieldSet, other: FieldSet): boolean {
  if (set === other) return true;
  for (const element in set) {
    if (element === self) continue;
    const [node, its] = [set[element] as FieldSet, other[element]];
    if (its === undefined || (isMember(node) && !isMember(its)) || !isSubset(node, its)) return false;
  }
  return true;
}

/** Returns the intersection of two sets. */
export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left;
  const result: FieldSetBuilder = {};
  for (const element in left) {
    if (element === self) continue;
    const b = right[element];
    if (b === undefined) continue;
    const a = left[element] as FieldSet;
    const node = nodeOf(intersection(a, b), isMember(a) && isMember(b));
    if (node !== undefined) result[element] = node as FieldSetBuilder;
  }
  return result;
}

/** Returns the elements of the left set that are not in the right one. Children of removed fields stay. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return subtract(left, right, false);
}

/** Like `difference`, but a field in the right set also removes its descendants. */
export function recursiveDifference(left: FieldSet, right: FieldSet): FieldSet {
  return subtract(left, right, true);
}

function subtract(left: FieldSet, right: FieldSet, recursive: boolean): FieldSet {
  let result: FieldSetBuilder | undefined;
  for (const element in right) {
    if (element === self) continue;
    const a = left[element];
    if (a === undefined) continue;
    const b = right[element] as FieldSet;
    const gone = isMember(b);
    const node = gone && recursive ? undefined : nodeOf(subtract(a, b, recursive), isMember(a) && !gone);
    if (node === a) continue;
    result ??= builderOf(left);
    if (node === undefined) delete result[element];
    else result[element] = node as FieldSetBuilder;
  }
  return result ?? left;
}

/** Adds the named struct fields on the path to each member. */
export function withNamedFields(set: FieldSet, schema: TypeSchema | undefined): FieldSet {
  let result: FieldSetBuilder | undefined;
  for (const element in set) {
    if (element === self) continue;
    const node = set[element] as FieldSet;
    if (!hasBelow(node)) continue;
    const name = element[0] === "f" ? element.slice(2) : undefined;
    const field = name === undefined ? undefined : schema?.map?.fields?.get(name);
    let type: TypeSchema | undefined;
    if (name !== undefined) type = field?.type ?? schema?.map?.element;
    else if (element[0] === "k") type = schema?.list?.element;
    const expanded = withSelf(withNamedFields(node, type), self in node || field !== undefined);
    if (expanded === node) continue;
    result ??= builderOf(set);
    result[element] = expanded as FieldSetBuilder;
  }
  return result ?? set;
}

/** Visits each field of the set, as `.spec.a[name="b"].c`: members of a level before descendants. */
export function eachPath(set: FieldSet, visit: (path: readonly PathElement[]) => void): void {
  visitPaths(set, [], visit);
}

function visitPaths(
  set: FieldSet,
  prefix: readonly PathElement[],
  visit: (path: readonly PathElement[]) => void,
): void {
  const elements = sortElements(Object.keys(set).filter((element) => element !== self));
  for (const element of elements) if (isMember(set[element])) visit([...prefix, element]);
  for (const element of elements) visitPaths(set[element] as FieldSet, [...prefix, element], visit);
}

export function pathText(path: readonly PathElement[]): string {
  return path.map(elementText).join("");
}

/**
 * Decodes a set of a client or the store, with canonical path elements; returns the same object if it is
 * canonical already. Throws an Error if it is malformed.
 */
export function decodeFieldSet(fields: unknown): FieldSet {
  if (fields === null || fields === undefined) return emptySet;
  return isCanonical(fields) ? fields : canonicalSet(fields);
}

/** Frozen sets that are known to be canonical: results of `encodeFieldSet`. */
export const canonicalSets = new WeakSet<FieldSet>();

function isCanonical(fields: unknown): fields is FieldSet {
  if (isObject(fields) && canonicalSets.has(fields as FieldSet)) return true;
  if (!isObject(fields)) throw new Error(`not a set of fields: ${JSON.stringify(fields)}`);
  for (const element in fields) {
    if (element !== self && canonicalElement(element) !== element) return false;
    if (!isCanonical(fields[element])) return false;
  }
  return true;
}

function canonicalSet(fields: unknown): FieldSet {
  if (isCanonical(fields)) return fields;
  const result: FieldSetBuilder = {};
  for (const [element, node] of Object.entries(fields as JsonObject)) {
    const canonical = element === self ? self : canonicalElement(element);
    const known = result[canonical];
    const set = canonicalSet(node);
    result[canonical] = (known === undefined ? set : unionNode(known, set)) as FieldSetBuilder;
  }
  return result;
}
