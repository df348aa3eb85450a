import { setKey } from "../json/parser.ts";
import { quoted } from "../text/quoted.ts";
import {
  type AliasNode,
  Documents,
  isMerge,
  type MappingNode,
  type ScalarNode,
  type YAMLNode,
} from "./node.ts";
import { goSyntax, keyText, plainScalar, taggedScalar, YAMLError, type YAMLScalar } from "./scalar.ts";

export { type LineFinder, lineFinder } from "./lines.ts";
export { YAMLError } from "./scalar.ts";

export interface YAMLTree {
  readonly value: unknown;
  /** Number of the document in the text, from 1 on; empty ones count. */
  readonly document: number;
  /** `line 7: key "a" already set in map`, in order. */
  readonly duplicates: readonly string[];
}

/**
 * Maximum share of the nodes that may come from aliases, as in go-yaml: a few bytes must not become
 * gigabytes. 99% in small documents, 10% in documents of 4 million nodes.
 */
function maxUnfolded(nodes: number): number {
  const large = Math.min(1, Math.max(0, (nodes - 400_000) / 3_600_000));
  return 0.99 - 0.89 * large;
}

/** Characters that no YAML text has. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for them
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u0080-\u0084\u0086-\u009f\ufffe\uffff]/;

/**
 * Reads the documents of a YAML text into the same trees that JSON gives. Empty documents are left out. The
 * rules of YAML 1.1 that Kubernetes follows count: `yes` and `on` are booleans, dates are strings. As in
 * kubectl, a key that overrides a merged one (`<<`) is not a duplicate. Throws YAMLError.
 */
export function parseYAMLDocuments(text: string): YAMLTree[] {
  const documents = documentsOf(text);
  const trees: YAMLTree[] = [];
  for (let number = 1; ; number++) {
    try {
      const tree = read(documents, number, new Reader({ mergeIsDefault: true }));
      if (tree === undefined) return trees;
      if (tree.value !== null) trees.push(tree);
    } catch (error) {
      if (error instanceof YAMLError) error.document = number;
      throw error;
    }
  }
}

/**
 * Reads the first document; further ones are not looked at. An empty text is null. As in
 * kube-apiserver's strict decoding, a key that overrides a merged one is a duplicate.
 */
export function parseYAML(text: string): YAMLTree {
  return read(documentsOf(text), 1) ?? { value: null, document: 1, duplicates: [] };
}

function documentsOf(text: string): Documents {
  if (controls.test(text)) throw new YAMLError("yaml: control characters are not allowed");
  return new Documents(text.startsWith("\ufeff") ? text.slice(1) : text);
}

function read(documents: Documents, number: number, reader = new Reader()): YAMLTree | undefined {
  return shallow(() => {
    const node = documents.next();
    return node && { ...reader.read(node), document: number };
  });
}

/** Nesting that the stack cannot hold is a mistake of the text. */
function shallow<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) throw new YAMLError("yaml: exceeded max depth");
    throw error;
  }
}

/**
 * Maximum number of repeated keys that are reported. Kubernetes has no limit, and responds to 3 MiB with
 * 30 MiB.
 */
const maxDuplicates = 10_000;

class Reader {
  readonly #duplicates: string[] = [];
  /** Targets of aliases that are being read. */
  readonly #open = new Set<YAMLNode>();
  #nodes = 0;
  #unfolded = 0;
  readonly #mergeIsDefault: boolean;

  constructor({ mergeIsDefault = false }: { mergeIsDefault?: boolean } = {}) {
    this.#mergeIsDefault = mergeIsDefault;
  }

  /** Counts a node. */
  #count(): void {
    this.#nodes++;
    if (this.#open.size > 0) this.#unfolded++;
    if (this.#unfolded <= 100 || this.#nodes <= 1000) return;
    if (this.#unfolded / this.#nodes > maxUnfolded(this.#nodes)) {
      throw new YAMLError("yaml: document contains excessive aliasing");
    }
  }

  read(node: YAMLNode): Omit<YAMLTree, "document"> {
    return { value: this.#value(node), duplicates: this.#duplicates };
  }

  #value(node: YAMLNode): unknown {
    this.#count();
    switch (node.type) {
      case "alias":
        return this.#followed(node, (target) => this.#value(target));
      case "sequence":
        return node.items.map((item) => this.#value(item));
      case "mapping": {
        const object: Record<string, unknown> = {};
        this.#mapInto(object, node);
        return object;
      }
    }
    const value = scalarOf(node);
    if (typeof value === "number" && !Number.isFinite(value)) {
      const shown = Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
      throw new YAMLError(`json: unsupported value: ${shown}`);
    }
    return value;
  }

  #followed<T>(node: AliasNode, then: (target: YAMLNode) => T): T {
    const { name, target } = node;
    if (this.#open.has(target)) {
      throw new YAMLError(`yaml: anchor '${name}' value contains itself`, node.line + 1);
    }
    this.#open.add(target);
    const result = then(target);
    this.#open.delete(target);
    return result;
  }

  #key(node: YAMLNode): YAMLScalar {
    this.#count();
    if (node.type === "alias") return this.#followed(node, (target) => this.#key(target));
    if (node.type !== "scalar") {
      throw new YAMLError(`yaml: invalid map key: ${goSyntax(this.#value(node))}`, node.line + 1);
    }
    return scalarOf(node);
  }

  /** Sets the entries of a map; the last of several values counts. */
  #mapInto(object: Record<string, unknown>, { items }: MappingNode): void {
    const own = this.#mergeIsDefault ? new Set<string>() : undefined;
    for (let index = 0; index < items.length; index += 2) {
      const [node, value] = [items[index]!, items[index + 1]!];
      if (isMerge(node)) {
        this.#merge(object, value);
        continue;
      }
      const key = this.#key(node);
      const read = this.#value(value);
      const name = keyText(key, read);
      const isDuplicate = own?.has(name) ?? Object.hasOwn(object, name);
      own?.add(name);
      if (isDuplicate && this.#duplicates.length < maxDuplicates) {
        const shown = typeof key === "string" ? quoted(key) : name;
        this.#duplicates.push(`line ${value.line + 1}: key ${shown} already set in map`);
      }
      setKey(object, name, read);
    }
  }

  /** A merge key: of several maps the first one's values count. */
  #merge(object: Record<string, unknown>, node: YAMLNode): void {
    const parts = node.type === "sequence" ? node.items.toReversed() : [node];
    for (const part of parts) {
      if ((part.type === "alias" ? part.target : part).type !== "mapping") {
        throw new YAMLError("yaml: map merge requires map or sequence of maps as the value", node.line + 1);
      }
      this.#mergePart(object, part);
    }
  }

  #mergePart(object: Record<string, unknown>, part: YAMLNode): void {
    this.#count();
    if (part.type === "alias") this.#followed(part, (target) => this.#mergePart(object, target));
    else if (part.type === "mapping") this.#mapInto(object, part);
  }
}

function scalarOf({ tag = "", text, plain }: ScalarNode): YAMLScalar {
  if (tag === "") return plain ? plainScalar(text) : text;
  if (tag === "!") return text;
  return taggedScalar(tag.replace(/^tag:yaml\.org,2002:/, ""), text);
}
