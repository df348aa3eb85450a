import { deviceIndex } from "./frame.ts";
import type { Lowered, Node, Qualifier } from "./ir.ts";

/**
 * The parts of a device that an expression depends on: two devices with equal parts have the same result,
 * error and cost. The domain of a bare name is the driver. An invalid attribute, which makes every expression
 * fail, is not a part.
 */
export interface Reads {
  readonly driver: boolean;
  readonly allowMultipleAllocations: boolean;
  /** Sorted; "all" if the expression reads whole domains or computes names. */
  readonly attributes: readonly (readonly [domain: string, id: string])[] | "all";
  readonly capacity: readonly (readonly [domain: string, id: string])[] | "all";
}

/** Visits every node, whether it is always evaluated or not. */
export function readsOf({ root }: Lowered): Reads {
  const reader = new Reader();
  reader.visit(root);
  return {
    driver: reader.fields.has("driver"),
    allowMultipleAllocations: reader.fields.has("allowMultipleAllocations"),
    attributes: reader.names("attributes"),
    capacity: reader.names("capacity"),
  };
}

const allFields = ["driver", "allowMultipleAllocations", "attributes", "capacity"];

class Reader {
  /** Fields of the device that are read as a whole. */
  readonly fields = new Set<string>();
  /** Attributes and capacities that are read, by field, domain and id. */
  readonly #names = new Map<string, readonly [domain: string, id: string]>();
  /** Bound values that were visited: a variable can be used many times. */
  readonly #followed = new Set<Node>();

  names(field: string): Reads["attributes"] {
    if (this.fields.has(field)) return "all";
    return [...this.#names]
      .filter(([key]) => key.startsWith(`${field}\n`))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, name]) => name);
  }

  visit(node: Node): void {
    switch (node.kind) {
      case "variable":
      case "lazy":
        this.#chain(node, []);
        break;
      case "chain":
        this.#chain(node.base, node.qualifiers);
        break;
      case "presence": {
        const key: Node = { kind: "constant", value: node.field };
        this.#chain(node.chain.base, [...node.chain.qualifiers, { key, optional: false }]);
        break;
      }
      case "invoke": {
        const [needle, container] = node.args;
        if (node.call.name === "@in" && needle?.kind === "constant" && container?.kind === "chain") {
          // `in` reads only whether the map has the key.
          this.#chain(container.base, [...container.qualifiers, { key: needle, optional: false }]);
          break;
        }
        for (const arg of node.args) this.visit(arg);
        break;
      }
      default:
        for (const child of children(node)) this.visit(child);
    }
  }

  #chain(base: Node, qualifiers: readonly Qualifier[]): void {
    for (const { key } of qualifiers) this.visit(key);
    const { names } = devicePath(base, qualifiers) ?? {};
    if (names === undefined) {
      if (base.kind === "lazy") this.#follow(base.init);
      else this.visit(base);
      return;
    }
    this.#keysOf(base);
    const [field, domain, id] = names;
    if (field === undefined) for (const name of allFields) this.fields.add(name);
    else if (field !== "attributes" && field !== "capacity") this.fields.add(field);
    else if (domain === undefined || id === undefined) this.fields.add(field);
    else this.#names.set(`${field}\n${domain}\n${id}`, [domain, id]);
  }

  #follow(init: Node): void {
    if (this.#followed.has(init)) return;
    this.#followed.add(init);
    this.visit(init);
  }

  /** Visits the computed indexes of a bound chain. */
  #keysOf(base: Node): void {
    if (base.kind !== "lazy" || base.init.kind !== "chain" || this.#followed.has(base)) return;
    this.#followed.add(base);
    for (const { key } of base.init.qualifiers) this.visit(key);
    this.#keysOf(base.init.base);
  }
}

interface Path {
  readonly names: readonly string[];
  /** No index is computed: further names continue the path. */
  readonly whole: boolean;
}

/**
 * The constant names of a chain that starts at the device, up to the first computed one; undefined for any
 * other chain. A bound variable stands for its value: `cel.bind(d, device.attributes["x"], d.y)` reads one
 * attribute.
 */
function devicePath(base: Node, qualifiers: readonly Qualifier[]): Path | undefined {
  let path: Path | undefined;
  if (base.kind === "variable" && base.index === deviceIndex) path = { names: [], whole: true };
  else if (base.kind === "lazy" && base.init.kind === "chain") {
    path = devicePath(base.init.base, base.init.qualifiers);
    // The result depends on whether the map of all domains is empty: see `bindingValue`.
    if (path?.names.length === 1) path = { ...path, whole: false };
  }
  if (path === undefined || !path.whole) return path;
  const names = [...path.names];
  for (const { key } of qualifiers) {
    if (key.kind !== "constant" || typeof key.value !== "string") return { names, whole: false };
    names.push(key.value);
  }
  return { names, whole: true };
}

/** The children of a node. */
function children(node: Node): readonly Node[] {
  switch (node.kind) {
    case "logical":
      return [node.left, node.right];
    case "conditional":
      return [node.condition, node.yes, node.no];
    case "insert":
      return node.args;
    case "notStrictlyFalse":
      return [node.operand];
    case "fallback":
      return [node.target, node.other];
    case "inSet":
      return [node.needle];
    case "list":
      return node.elements;
    case "map":
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case "message":
      return node.fields.map(({ value }) => value);
    case "append":
      return [node.element];
    case "loop":
      return [node.range, node.condition, node.step, node.result];
    case "bind":
      return [node.result];
    default:
      return [];
  }
}
