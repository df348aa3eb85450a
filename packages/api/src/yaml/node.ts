import { YAMLError } from "./scalar.ts";
import { Scanner } from "./scanner.ts";
import type { Token, TokenType } from "./token.ts";

/** A value of a YAML text before its scalars are interpreted. Lines are counted from 0. */
export type YAMLNode = ScalarNode | SequenceNode | MappingNode | AliasNode;

export interface ScalarNode {
  readonly type: "scalar";
  readonly line: number;
  readonly text: string;
  /** It has neither quotes nor a tag. */
  readonly plain: boolean;
  /** "" or undefined if the scalar has no tag. */
  readonly tag?: string;
}

export interface SequenceNode {
  readonly type: "sequence";
  readonly line: number;
  readonly items: YAMLNode[];
}

export interface MappingNode {
  readonly type: "mapping";
  readonly line: number;
  /** Keys and values in turn. */
  readonly items: YAMLNode[];
}

export interface AliasNode {
  readonly type: "alias";
  readonly line: number;
  readonly name: string;
  readonly target: YAMLNode;
}

/** A merge key, `<<`. */
export const isMerge = (node: YAMLNode): boolean =>
  node.type === "scalar" &&
  node.text === "<<" &&
  (node.plain || node.tag === "!" || node.tag === "tag:yaml.org,2002:merge");

/** The properties before the content of a node. */
interface Properties {
  readonly anchor: string;
  readonly tag: string;
}

const noProperties: Properties = { anchor: "", tag: "" };

/** Reads the documents of a YAML text, one after the other, by the grammar of libyaml. */
export class Documents {
  readonly #scanner: Scanner;
  #first = true;
  readonly #anchors = new Map<string, YAMLNode>();
  readonly #handles = new Map<string, string>();

  constructor(text: string) {
    this.#scanner = new Scanner(text);
  }

  /**
   * The next document; undefined after the last. Throws YAMLError, and RangeError for nesting beyond the
   * stack.
   */
  next(): YAMLNode | undefined {
    this.#anchors.clear();
    if (!this.#first) while (this.#peek().type === "document end") this.#scanner.skip();
    if (this.#peek().type === "stream end") return undefined;
    const bare = this.#first && !["directive", "document start"].includes(this.#peek().type);
    this.#first = false;
    this.#directives();
    const node = bare ? this.#node(true, false) : this.#explicitDocument();
    if (this.#peek().type === "document end") this.#scanner.skip();
    return node;
  }

  #explicitDocument(): YAMLNode {
    const token = this.#peek();
    if (token.type !== "document start") fail("did not find expected <document start>", token);
    this.#scanner.skip();
    const content = this.#peek();
    return ["directive", "document start", "document end", "stream end"].includes(content.type)
      ? empty(content)
      : this.#node(true, false);
  }

  #directives(): void {
    this.#handles.clear();
    let version = false;
    for (let token = this.#peek(); token.type === "directive"; token = this.#peek()) {
      const { directive } = token;
      if (directive?.name === "YAML") {
        if (version) fail("found duplicate %YAML directive", token);
        if (directive.major !== 1 || directive.minor !== 1) fail("found incompatible YAML document", token);
        version = true;
      } else if (directive !== undefined) {
        if (this.#handles.has(directive.handle)) fail("found duplicate %TAG directive", token);
        this.#handles.set(directive.handle, directive.prefix);
      }
      this.#scanner.skip();
    }
    if (!this.#handles.has("!")) this.#handles.set("!", "!");
    if (!this.#handles.has("!!")) this.#handles.set("!!", "tag:yaml.org,2002:");
  }

  #peek(): Token {
    return this.#scanner.peek();
  }

  /** Steps over the next token if it is of that type. */
  #taken(type: TokenType): boolean {
    if (this.#peek().type !== type) return false;
    this.#scanner.skip();
    return true;
  }

  /** `indentless`: a list that is not further right than the key before it may come. */
  #node(block: boolean, indentless: boolean): YAMLNode {
    const first = this.#peek();
    if (first.type === "alias") {
      const target = this.#anchors.get(first.text);
      if (target === undefined) {
        throw new YAMLError(`yaml: unknown anchor '${first.text}' referenced`, first.line + 1);
      }
      this.#scanner.skip();
      return { type: "alias", line: first.line, name: first.text, target };
    }
    const properties = first.type === "anchor" || first.type === "tag" ? this.#properties() : noProperties;
    const token = this.#peek();
    const { line } = first;
    switch (token.type) {
      case "scalar": {
        this.#scanner.skip();
        if (properties === noProperties) return token;
        const { text, plain } = token;
        const { tag } = properties;
        return this.#anchored({ type: "scalar", line, text, plain: plain && tag === "", tag }, properties);
      }
      case "flow sequence start":
        return this.#collection("sequence", line, properties, (items) => this.#flowSequence(items));
      case "flow mapping start":
        return this.#collection("mapping", line, properties, (items) => this.#flowMapping(items));
      case "block entry":
        if (!indentless) break;
        return this.#collection("sequence", line, properties, (items) => this.#indentlessSequence(items));
      case "block sequence start":
        if (!block) break;
        return this.#collection("sequence", line, properties, (items) => this.#blockSequence(items));
      case "block mapping start":
        if (!block) break;
        return this.#collection("mapping", line, properties, (items) => this.#blockMapping(items));
    }
    if (properties === noProperties) fail("did not find expected node content", token);
    const { tag } = properties;
    return this.#anchored({ type: "scalar", line, text: "", plain: tag === "", tag }, properties);
  }

  /** The anchor of a collection is known within it already. */
  #collection(
    type: "sequence" | "mapping",
    line: number,
    properties: Properties,
    read: (items: YAMLNode[]) => void,
  ): YAMLNode {
    const items: YAMLNode[] = [];
    const node = this.#anchored({ type, line, items }, properties);
    read(items);
    return node;
  }

  #anchored(node: YAMLNode, { anchor }: Properties): YAMLNode {
    if (anchor !== "") this.#anchors.set(anchor, node);
    return node;
  }

  #properties(): Properties {
    let anchor = "";
    let tag: Token | undefined;
    const order: readonly TokenType[] =
      this.#peek().type === "anchor" ? ["anchor", "tag"] : ["tag", "anchor"];
    for (const type of order) {
      const token = this.#peek();
      if (token.type !== type) break;
      if (type === "anchor") anchor = token.text;
      else tag = token;
      this.#scanner.skip();
    }
    // The content after them is checked before the tag.
    this.#peek();
    return { anchor, tag: tag === undefined ? "" : this.#wholeTag(tag) };
  }

  #wholeTag(token: Token): string {
    const { handle, suffix } = (token.type === "tag" && token.written) || { handle: "", suffix: "" };
    if (handle === "") return suffix;
    const prefix = this.#handles.get(handle);
    if (prefix === undefined) fail("found undefined tag handle", token);
    return prefix + suffix;
  }

  #blockSequence(items: YAMLNode[]): void {
    this.#scanner.skip();
    while (this.#taken("block entry")) {
      const { type } = this.#peek();
      const none = type === "block entry" || type === "block end";
      items.push(none ? empty(this.#peek()) : this.#node(true, false));
    }
    if (!this.#taken("block end")) fail("did not find expected '-' indicator", this.#peek());
  }

  #indentlessSequence(items: YAMLNode[]): void {
    while (this.#taken("block entry")) {
      const none = this.#peek().type === "block entry" || this.#endsEntry();
      items.push(none ? empty(this.#peek()) : this.#node(true, false));
    }
  }

  #endsEntry(): boolean {
    const { type } = this.#peek();
    return type === "key" || type === "value" || type === "block end";
  }

  #blockMapping(items: YAMLNode[]): void {
    this.#scanner.skip();
    while (this.#taken("key")) {
      items.push(this.#endsEntry() ? empty(this.#peek()) : this.#node(true, true));
      const indicator = this.#peek();
      const none = !this.#taken("value") || this.#endsEntry();
      items.push(none ? empty(indicator) : this.#node(true, true));
    }
    if (!this.#taken("block end")) fail("did not find expected key", this.#peek());
  }

  #flowSequence(items: YAMLNode[]): void {
    this.#scanner.skip();
    for (let token = this.#peek(); token.type !== "flow sequence end"; token = this.#peek()) {
      if (items.length > 0) {
        if (token.type !== "flow entry") fail("did not find expected ',' or ']'", token);
        this.#scanner.skip();
        token = this.#peek();
        if (token.type === "flow sequence end") break;
      }
      const { type, line } = token;
      if (type !== "key") items.push(this.#node(false, false));
      else items.push({ type: "mapping", line, items: this.#flowPair("flow sequence end") });
    }
    this.#scanner.skip();
  }

  #flowMapping(items: YAMLNode[]): void {
    this.#scanner.skip();
    for (let token = this.#peek(); token.type !== "flow mapping end"; token = this.#peek()) {
      if (items.length > 0) {
        if (token.type !== "flow entry") fail("did not find expected ',' or '}'", token);
        this.#scanner.skip();
        token = this.#peek();
        if (token.type === "flow mapping end") break;
      }
      if (token.type === "key") for (const each of this.#flowPair("flow mapping end")) items.push(each);
      else items.push(this.#node(false, false), empty(this.#peek()));
    }
    this.#scanner.skip();
  }

  /** A key and its value in a flow collection, from the indicator of the key on. */
  #flowPair(end: TokenType): [YAMLNode, YAMLNode] {
    this.#scanner.skip();
    const ends = (): boolean => this.#peek().type === "flow entry" || this.#peek().type === end;
    const keyless = this.#peek().type === "value" || ends();
    // In lists libyaml takes the token in place of a key as the key.
    if (keyless && end === "flow sequence end") this.#scanner.skip();
    const key = keyless ? empty(this.#peek()) : this.#node(false, false);
    const none = !this.#taken("value") || ends();
    return [key, none ? empty(this.#peek()) : this.#node(false, false)];
  }
}

const empty = ({ line }: Token): ScalarNode => ({ type: "scalar", line, text: "", plain: true, tag: "" });

/** go-yaml says the line of a mistake of the grammar as it counts them: from 0 on, and not the first. */
function fail(problem: string, { line }: Token): never {
  throw new YAMLError(`yaml: ${line === 0 ? "" : `line ${line}: `}${problem}`, line + 1);
}
