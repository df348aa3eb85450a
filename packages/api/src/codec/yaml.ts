import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  type Scalar,
  visit,
  type YAMLMap,
} from "yaml";
import { setKey } from "./json.ts";
import { keyText, plainScalar, taggedScalar, YAMLError, type YAMLScalar } from "./yaml-scalar.ts";

export { YAMLError } from "./yaml-scalar.ts";

export interface YAMLTree {
  readonly value: unknown;
  /** Which document of the text it is, from 1 on; empty ones count. */
  readonly document: number;
  /** `line 7: key "a" already set in map`, in order. */
  readonly duplicates: readonly string[];
}

/**
 * The part of all nodes that aliases may unfold to, as in go-yaml: a few bytes must not become gigabytes. Of small
 * documents 99%, of those of 4 million nodes 10%.
 */
function mostUnfolded(nodes: number): number {
  const large = Math.min(1, Math.max(0, (nodes - 400_000) / 3_600_000));
  return 0.99 - 0.89 * large;
}

/** Characters that no YAML text has. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u0080-\u0084\u0086-\u009f\ufffe\uffff]/;

/**
 * Reads the documents of a YAML text into the same trees that JSON gives. Empty documents are left out. The rules of
 * YAML 1.1 that Kubernetes follows count: `yes` and `on` are booleans, dates are strings. Throws YAMLError.
 */
export function parseYAMLDocuments(text: string): YAMLTree[] {
  return shallow(() => [...documentsOf(text)])
    .map(([document, lines], index) => {
      try {
        return read(document, lines, index + 1);
      } catch (error) {
        if (error instanceof YAMLError) error.document = index + 1;
        throw error;
      }
    })
    .filter(({ value }) => value !== null);
}

/** Reads the first document; further ones are not looked at. An empty text is null. */
export function parseYAML(text: string): YAMLTree {
  const first = shallow(() => documentsOf(text).next().value);
  return first === undefined ? { value: null, document: 1, duplicates: [] } : read(...first, 1);
}

/** One after the other: a text of many documents is not read beyond the first where nobody asks for more. */
function* documentsOf(text: string): Generator<[Document, LineCounter], undefined> {
  if (controls.test(text)) throw new YAMLError("yaml: control characters are not allowed");
  const lineCounter = new LineCounter();
  const parser = new Parser(lineCounter.addNewLine);
  // Scalars are read as they stand; what they mean is decided here.
  const composer = new Composer({ version: "1.1", schema: "failsafe", uniqueKeys: false });
  for (const document of composer.compose(parser.parse(text))) yield [document, lineCounter];
}

function read(document: Document, lines: LineCounter, number: number): YAMLTree {
  const error = document.errors[0];
  if (error !== undefined) {
    const at = error.pos[0];
    const line = at < 0 ? 1 : lines.linePos(at).line;
    // Go's words for the mistake that is made most.
    const what =
      error.code === "BLOCK_AS_IMPLICIT_KEY"
        ? "mapping values are not allowed in this context"
        : (error.message.split("\n")[0] ?? "");
    throw new YAMLError(`yaml: ${line === 1 ? "" : `line ${line}: `}${what}`);
  }
  return { ...shallow(() => new Reader(document, lines).read()), document: number };
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

class Reader {
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #duplicates: string[] = [];
  /** What each alias leads to: the last node before it with that anchor. */
  readonly #targets = new Map<Node, Node>();
  /** What aliases lead to, while it is read. */
  readonly #open = new Set<Node>();
  #nodes = 0;
  #unfolded = 0;

  constructor(document: Document, lines: LineCounter) {
    this.#document = document;
    this.#lines = lines;
    const anchors = new Map<string, Node>();
    visit(document, {
      Node: (_key, node) => {
        if (isAlias(node)) {
          const target = anchors.get(node.source);
          if (target !== undefined) this.#targets.set(node, target);
        } else if (node.anchor !== undefined) anchors.set(node.anchor, node);
      },
    });
  }

  /** Counts a node. */
  #count(): void {
    this.#nodes++;
    if (this.#open.size > 0) this.#unfolded++;
    if (this.#unfolded <= 100 || this.#nodes <= 1000) return;
    if (this.#unfolded / this.#nodes > mostUnfolded(this.#nodes)) {
      throw new YAMLError("yaml: document contains excessive aliasing");
    }
  }

  read(): Omit<YAMLTree, "document"> {
    const value = this.#value(this.#document.contents as Node | null);
    return { value, duplicates: this.#duplicates };
  }

  #value(node: Node | null | undefined): unknown {
    this.#count();
    if (node === null || node === undefined) return null;
    if (isAlias(node)) return this.#followed(node, (target) => this.#value(target));
    if (isScalar(node)) {
      const value = this.#scalar(node);
      if (typeof value === "number" && !Number.isFinite(value)) {
        const shown = Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
        throw new YAMLError(`json: unsupported value: ${shown}`);
      }
      return value;
    }
    if (isSeq(node)) return node.items.map((item) => this.#item(item));
    if (!isMap(node)) return null;
    const object: Record<string, unknown> = {};
    this.#mapInto(object, node);
    return object;
  }

  /** An element of a list: a pair in a list stands for a map of its own. */
  #item(item: unknown): unknown {
    const pair = item as Pair<Node, Node | null>;
    if (pair === null || typeof pair !== "object" || !("key" in pair)) return this.#value(item as Node);
    return { [keyText(this.#key(pair.key))]: this.#value(pair.value) };
  }

  #followed<T>(node: Node, then: (target: Node) => T): T {
    if (!isAlias(node)) return then(node);
    const target = this.#targets.get(node);
    if (target === undefined) throw new YAMLError(`yaml: unknown anchor '${node.source}' referenced`);
    if (this.#open.has(target)) throw new YAMLError(`yaml: anchor '${node.source}' value contains itself`);
    this.#open.add(target);
    const result = then(target);
    this.#open.delete(target);
    return result;
  }

  #scalar(node: Scalar): YAMLScalar {
    const plain = node.type === undefined || node.type === "PLAIN";
    const text = node.value === null || node.value === undefined ? "" : String(node.value);
    const tag = node.tag?.replace(/^tag:yaml\.org,2002:/, "");
    if (tag !== undefined && tag !== "!") return taggedScalar(tag, text);
    return plain && tag === undefined ? plainScalar(text) : text;
  }

  #key(node: Node | null): YAMLScalar {
    if (node === null) return null;
    if (isAlias(node)) return this.#followed(node, (target) => this.#key(target));
    if (!isScalar(node)) throw new YAMLError("yaml: invalid map key: a key must be a plain value");
    return this.#scalar(node);
  }

  /** Sets what a map holds; the last of several values counts. */
  #mapInto(object: Record<string, unknown>, map: YAMLMap): void {
    for (const { key, value } of map.items as Pair<Node | null, Node | null>[]) {
      const node = key as Node | null;
      if (isScalar(node) && node.value === "<<" && (node.type === undefined || node.type === "PLAIN")) {
        this.#merge(object, value);
        continue;
      }
      const read = this.#key(node);
      const name = keyText(read);
      if (Object.hasOwn(object, name)) {
        const { line } = this.#lines.linePos(node?.range?.[0] ?? 0);
        const shown = typeof read === "string" ? JSON.stringify(read) : name;
        this.#duplicates.push(`line ${line}: key ${shown} already set in map`);
      }
      setKey(object, name, this.#value(value));
    }
  }

  /** A merge key: of several maps the first one's values count. */
  #merge(object: Record<string, unknown>, node: Node | null): void {
    this.#count();
    const wrong = "yaml: map merge requires map or sequence of maps as the value";
    if (node === null) throw new YAMLError(wrong);
    this.#followed(node, (target) => {
      if (isMap(target)) this.#mapInto(object, target);
      else if (isSeq(target) && !isAlias(node)) {
        for (const item of target.items.toReversed()) {
          this.#followed(item as Node, (part) => {
            if (!isMap(part)) throw new YAMLError(wrong);
            this.#mapInto(object, part);
          });
        }
      } else throw new YAMLError(wrong);
    });
  }
}
