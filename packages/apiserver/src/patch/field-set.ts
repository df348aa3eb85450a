import { isEmpty, isObject, type JsonObject } from "../json/values.ts";
import { canonicalElement, elementText, type PathElement, sortElements } from "./path-element.ts";
import type { TypeSchema } from "./type-schema.ts";

/**
 * A set of fields, in the form in which managedFields carry it (FieldsV1): each key is a path element, its value the
 * set below it. An element belongs to the set itself if nothing is below it, or if it holds ".".
 *
 * Sets are never changed once built; results share the parts that are unchanged, down to identity, so that a set
 * that an operation leaves alone comes back as it is.
 */
export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

/** A set under construction. */
export interface FieldSetBuilder {
  [element: PathElement]: FieldSetBuilder;
}

const self = ".";
export const leaf: FieldSetBuilder = Object.freeze({});
export const emptySet: FieldSet = leaf;

/** True if nothing belongs to the set. */
export function isEmptySet(set: FieldSet): boolean {
  return !hasBelow(set);
}

/** Whether the element that holds this node belongs to the set itself. */
function isMember(node: FieldSet | undefined): boolean {
  return node === leaf || (node !== undefined && (self in node || isEmpty(node)));
}

function hasBelow(node: FieldSet): boolean {
  for (const element in node) if (element !== self) return true;
  return false;
}

/**
 * Adds the field at that path, and what is below it, to a set that was built by this alone. Nodes with nothing below
 * them are the one `leaf`: to look into a node of thousands takes too long for each of them.
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

/** The set of the given paths. */
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

/** Whether an element at the top belongs to the set. */
export function hasElement(set: FieldSet, element: PathElement): boolean {
  return isMember(set[element]);
}

/** The set below an element; undefined where nothing is. */
export function below(set: FieldSet, element: PathElement): FieldSet | undefined {
  const node = set[element];
  return node !== undefined && hasBelow(node) ? node : undefined;
}

/** What belongs to either. */
export function union(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right || !hasBelow(right)) return left;
  if (!hasBelow(left)) return right;
  let result: FieldSetBuilder | undefined;
  for (const element in right) {
    if (element === self) continue;
    const a = left[element];
    const b = right[element] as FieldSet;
    const node = a === undefined ? b : unionNode(a, b);
    if (node === a) continue;
    result ??= { ...left } as FieldSetBuilder;
    result[element] = node as FieldSetBuilder;
  }
  return result ?? left;
}

/** What belongs to any of many sets: to join them one after the other takes a copy for each. */
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
  const below = union(left, right);
  return withSelf(below, hasBelow(below) && (isMember(left) || isMember(right)));
}

/** The node with or without "."; `node` itself where it fits. */
function withSelf(node: FieldSet, member: boolean): FieldSet {
  if (self in node === member) return node;
  if (member) return { [self]: leaf, ...node };
  const { [self]: _, ...rest } = node;
  return rest;
}

/** A node made of a set below and a mark; undefined where neither is left. */
function nodeOf(below: FieldSet, member: boolean): FieldSet | undefined {
  if (hasBelow(below)) return withSelf(below, member);
  return member ? leaf : undefined;
}

/** Whether all that belongs to the one set belongs to the other. */
export function isSubset(set: FieldSet, other: FieldSet): boolean {
  if (set === other) return true;
  for (const element in set) {
    if (element === self) continue;
    const [node, its] = [set[element] as FieldSet, other[element]];
    if (its === undefined || (isMember(node) && !isMember(its)) || !isSubset(node, its)) return false;
  }
  return true;
}

/** What belongs to both. */
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

/** What belongs to the left set and not to the right one. A field outlives its parent. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return subtract(left, right, false);
}

/** As `difference`, but a field in the right set takes all below it along. */
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
    result ??= { ...left } as FieldSetBuilder;
    if (node === undefined) delete result[element];
    else result[element] = node as FieldSetBuilder;
  }
  return result ?? left;
}

/** With the named fields of structs on the way to each member. */
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
    result ??= { ...set } as FieldSetBuilder;
    result[element] = expanded as FieldSetBuilder;
  }
  return result ?? set;
}

/** Calls back for each field of the set, members of a level before what is below it, as `.spec.a[name="b"].c`. */
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
 * A set as a client or the store has it, with the text of its elements made canonical; the very object where it
 * already is. Throws an Error for what is no set.
 */
export function decodeFieldSet(fields: unknown): FieldSet {
  if (fields === null || fields === undefined) return emptySet;
  return isCanonical(fields) ? fields : canonicalSet(fields);
}

/** Frozen sets that are known to be canonical: those that `encodeFieldSet` has given. */
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
