import { Document, isMap, type YAMLMap, type YAMLSeq } from "yaml";
import { classicObjects, isClassic, isNegotiation, migrateClassic } from "./classic.ts";
import { ExtendedResources } from "./extended-resources.ts";
import { noteLimitRange } from "./limit-ranges.ts";
import { Manifest, type MigrationNote } from "./manifest.ts";
import { fieldOf, itemsOf, mapOf, nodeOf, type Plain, setText, textOf } from "./nodes.ts";
import { migratePods, type PodContext } from "./pods.ts";
import { migrateQuota } from "./quotas.ts";
import { isStructured, migrateStructured } from "./structured.ts";
import { isJSONText, jsonOf, type Part, partsOf, styleOf, TextError, useBlockStyle } from "./text.ts";

export type { MigrationNote } from "./manifest.ts";

export interface MigrationInput {
  /** Name in notes. */
  readonly file: string;
  readonly text: string;
}

export interface MigrationOptions {
  /** Names of DeviceClasses by extended resource, in addition to the well-known ones. */
  readonly deviceClasses?: ReadonlyMap<string, string>;
}

export interface MigratedFile {
  readonly file: string;
  /** Equal to the input if nothing had to change. */
  readonly text: string;
  readonly objects: number;
  /** Number of objects that were changed or left out. */
  readonly changed: number;
}

export interface Migration {
  readonly files: readonly MigratedFile[];
  readonly notes: readonly MigrationNote[];
  /** Texts that cannot be parsed; they are not in `files`. */
  readonly errors: readonly { readonly file: string; readonly line: number; readonly message: string }[];
}

/**
 * Rewrites older manifests of DRA and of device plugins as resource.k8s.io/v1. YAML keeps its comments and
 * unaffected parts. Pure; runs in a browser, too.
 */
export function migrate(inputs: readonly MigrationInput[], options: MigrationOptions = {}): Migration {
  const notes: MigrationNote[] = [];
  const errors: { file: string; line: number; message: string }[] = [];
  const files = inputs.flatMap((input) => {
    try {
      return [new ReadFile(input, notes)];
    } catch (error) {
      if (!(error instanceof TextError)) throw error;
      errors.push({ file: input.file, line: error.line, message: error.message });
      return [];
    }
  });
  const manifests = files.flatMap((file) => file.manifests);
  const classic = classicObjects(manifests);
  const pods: PodContext = {
    resources: new ExtendedResources(manifests, options.deviceClasses ?? new Map()),
    withoutRequests: new Set(
      manifests.filter(isClassic).map((manifest) => manifest.key(manifest.kind, manifest.name)),
    ),
    templates: new Set(
      manifests
        .filter(({ kind }) => kind === "ResourceClaimTemplate")
        .map((manifest) => manifest.key(manifest.kind, manifest.name)),
    ),
  };
  for (const manifest of manifests) {
    if (isNegotiation(manifest)) {
      manifest.dropped = true;
      manifest.note("", "is left out: the scheduler chooses devices itself now, and nothing is negotiated");
    } else if (isClassic(manifest)) migrateClassic(manifest, classic);
    else if (isStructured(manifest)) migrateStructured(manifest);
    migratePods(manifest, pods);
    migrateQuota(manifest, pods.resources);
    noteLimitRange(manifest, pods.resources);
  }
  return { files: files.map((file) => file.migrated()), notes, errors };
}

/** A document and its objects. */
interface ReadPart {
  readonly part: Part | string;
  readonly manifests: readonly Manifest[];
  /** Lists, from the outermost on. */
  readonly lists: readonly YAMLMap[];
}

class ReadFile {
  readonly #input: MigrationInput;
  readonly #parts: readonly ReadPart[];

  /** Throws TextError. */
  constructor(input: MigrationInput, notes: MigrationNote[]) {
    this.#input = input;
    this.#parts = partsOf(input.text.replaceAll("\r\n", "\n")).map((part): ReadPart => {
      if (typeof part === "string") return { part, manifests: [], lists: [] };
      const lists: YAMLMap[] = [];
      const manifestsOf = (node: unknown): Manifest[] => {
        if (!isMap(node)) return [];
        const kind = textOf(fieldOf(node, "kind")) ?? "";
        if (!kind.endsWith("List") || fieldOf(node, "items") === undefined)
          return [new Manifest(node, input.file, part.lineOf, notes)];
        lists.push(node);
        return itemsOf(fieldOf(node, "items")).flatMap((item) => {
          sayKind(item, node, kind);
          return manifestsOf(item);
        });
      };
      return { part, manifests: manifestsOf(part.document.contents), lists };
    });
  }

  get manifests(): readonly Manifest[] {
    return this.#parts.flatMap(({ manifests }) => manifests);
  }

  migrated(): MigratedFile {
    const { file, text } = this.#input;
    const { manifests } = this;
    const changed = manifests.filter(({ changed, dropped }) => changed || dropped).length;
    const base = { file, objects: manifests.length, changed };
    if (changed === 0) return { ...base, text };
    const made = this.#text();
    return { ...base, text: text.includes("\r\n") ? made.replaceAll("\n", "\r\n") : made };
  }

  #text(): string {
    const { text } = this.#input;
    const style = styleOf(text);
    const json = isJSONText(text);
    let made = "";
    for (const { part, manifests, lists } of this.#parts) {
      const added = manifests.flatMap((manifest) => manifest.added);
      const isSame = !manifests.some(({ changed, dropped }) => changed || dropped);
      if (typeof part === "string" || isSame) {
        made += typeof part === "string" ? part : part.source;
        continue;
      }
      const { document } = part;
      const beside = lists.length > 0 ? [] : added;
      if (lists.length > 0) changeLists(lists, manifests, added);
      else if (manifests[0]?.dropped) continue;
      if (json) {
        made += jsonText(document, beside, text);
        continue;
      }
      useBlockStyle(document.contents);
      const print = { ...style, lineWidth: 0, minContentWidth: 0 };
      made += withEnd(part.header) + withEnd(document.toString(print)) + withEnd(part.footer);
      for (const object of beside) made += `---\n${withEnd(newDocument(object).toString(print))}`;
    }
    return made.replace(/^---[ \t]*\n(?=---(?:\s|$))/gm, "");
  }
}

/** Sets the kind of an item, which lists of one kind may leave out. */
function sayKind(item: unknown, list: YAMLMap, listKind: string): void {
  const map = mapOf(item);
  if (map === undefined || listKind === "List") return;
  const apiVersion = textOf(fieldOf(list, "apiVersion")) ?? "v1";
  const said = { apiVersion, kind: listKind.slice(0, -"List".length) };
  const missing = Object.entries(said).filter(([key]) => fieldOf(map, key) === undefined);
  map.items = [...(nodeOf(Object.fromEntries(missing)) as YAMLMap).items, ...map.items];
}

/** Removes dropped objects from their lists, and appends new ones to the first list. */
function changeLists(
  lists: readonly YAMLMap[],
  manifests: readonly Manifest[],
  added: readonly Plain[],
): void {
  const dropped = new Set<unknown>(manifests.filter((manifest) => manifest.dropped).map(({ map }) => map));
  for (const list of lists) {
    const items = fieldOf(list, "items") as YAMLSeq;
    items.items = items.items.filter((item) => !dropped.has(item));
  }
  const [first] = lists;
  if (first === undefined) return;
  // A list of one version or one kind becomes a general one.
  if (textOf(fieldOf(first, "kind")) !== "List") {
    setText(fieldOf(first, "kind"), "List");
    setText(fieldOf(first, "apiVersion"), "v1");
  }
  const { items } = fieldOf(first, "items") as YAMLSeq;
  for (const object of added) items.push(nodeOf(object));
}

function newDocument(object: Plain): Document {
  const document = new Document(null, { schema: "failsafe" });
  // Document infers the type of its contents from null.
  document.contents = nodeOf(object) as unknown as typeof document.contents;
  return document;
}

/** JSON has one value: several objects become a list. */
function jsonText(document: Document, beside: readonly Plain[], text: string): string {
  const indent = /\n( +)\S/.exec(text)?.[1] ?? "";
  if (beside.length === 0) return withEnd(jsonOf(document, indent));
  const list = newDocument({ apiVersion: "v1", kind: "List", items: [] });
  const items = fieldOf(list.contents, "items") as YAMLSeq;
  items.items = [document.contents, ...beside.map(nodeOf)];
  return withEnd(jsonOf(list, indent));
}

const withEnd = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
