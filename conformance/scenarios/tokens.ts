import type { Fields } from "../format.ts";
import type { Pick } from "./scenario.ts";

/**
 * Replaces what differs from run to run (ids, versions, times, addresses) by tokens that are numbered by
 * their first appearance in a scenario: what was equal stays equal.
 */
export class Tokens {
  readonly #written: string;
  readonly #now: number;
  readonly #numbers = new Map<string, Map<string, number>>();
  /** Full name to base, of names that the server has made. */
  readonly #generated = new Map<string, string>();
  #columns: readonly string[] = [];

  /** `written`: the scenario's own requests; `now` in milliseconds. */
  constructor(written: string, now: number) {
    this.#written = written;
    this.#now = now;
  }

  /** Learns the suffix that the server has added to `base`. */
  learnName(base: string, name: string): void {
    if (name.startsWith(base) && name.length === base.length + 5) this.#generated.set(name, base);
  }

  /** Remembers the columns of a Table, for the Tables after it that come without. */
  learnColumns(table: unknown): void {
    if (!isFields(table) || table["kind"] !== "Table" || !Array.isArray(table["columnDefinitions"])) return;
    const names = (table["columnDefinitions"] as Fields[]).map(({ name }) => String(name));
    if (names.length > 0) this.#columns = names;
  }

  walk(value: unknown, key = "", parent: Fields = {}): unknown {
    if (typeof value === "string")
      return key === "continue" && value !== "" ? "<continue>" : this.#text(value);
    if (Array.isArray(value)) return value.map((item) => this.walk(item, key, parent));
    if (!isFields(value)) return value;
    if (value["type"] === "BOOKMARK") return this.#bookmark(value);
    const result: Record<string, unknown> = {};
    for (const name of Object.keys(value).sort()) {
      const item = value[name];
      const shown = this.#text(name);
      if (name === "resourceVersion" && typeof item === "string") {
        result[shown] = this.#version(item, key === "metadata" && isCollection(parent));
      } else if (name === "nodePort" && typeof item === "number")
        result[shown] = this.#numbered("port", String(item));
      else if (name === "rows" && Array.isArray(item))
        result[shown] = item.map((row) => this.#row(row as Fields));
      else result[shown] = this.walk(item, name, value);
    }
    return result;
  }

  /** All versions in it are those of all objects. */
  #bookmark(event: Fields): unknown {
    const plain = JSON.stringify(event).replace(/"resourceVersion":"[1-9]\d*"/g, '"resourceVersion":"<rv>"');
    const { type, ...rest } = JSON.parse(plain) as Fields;
    return { ...(this.walk(rest) as Fields), type };
  }

  /** The cells of a row of a Table whose columns are known. */
  cells(cells: readonly unknown[]): unknown {
    return cells.map((cell, i) =>
      typeof cell === "string" ? this.#cell(cell, this.#columns[i] ?? "") : cell,
    );
  }

  #row(row: Fields): unknown {
    const { cells, ...rest } = row;
    // The keys of a row are in order: cells come first.
    const shown = Array.isArray(cells) ? { cells: this.cells(cells) } : {};
    return { ...shown, ...(this.walk(rest) as object) };
  }

  #cell(cell: string, column: string): string {
    if (ageColumns.has(column) && /^(\d+[smhdy])+$/.test(cell)) return "<age>";
    return this.#text(cell).replace(/:(\d+)\//g, (_, port: string) => `:${this.#numbered("port", port)}/`);
  }

  #version(text: string, ofCollection: boolean): string {
    if (text === "" || text === "0" || text === "<rv>") return text;
    if (ofCollection) return "<rv>";
    return this.#sent(text) ? text : this.#numbered("rv", text);
  }

  /** Has the scenario itself sent this as a resourceVersion? */
  #sent(version: string): boolean {
    return (
      this.#written.includes(`"resourceVersion":"${version}"`) ||
      this.#written.includes(`\\"resourceVersion\\":\\"${version}\\"`) ||
      new RegExp(`resourceVersion[=: ]+\\\\?"?${version.replace(/\W/g, "\\$&")}(?!\\d)`).test(this.#written)
    );
  }

  #text(text: string): string {
    let result = text
      .replace(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, "<token>")
      .replace(/\bhash=[\w%-]+/g, "hash=<hash>");
    for (const [name, base] of this.#generated) {
      if (result.includes(name)) result = result.replaceAll(name, base + this.#numbered("suffix", name));
    }
    return result
      .replace(uuid, (id) => (this.#written.includes(id) ? id : this.#numbered("uid", id)))
      .replace(time, (all, fraction: string | undefined) => {
        if (Math.abs(Date.parse(all) - this.#now) > twoDays) return all;
        return fraction === undefined ? "<time>" : "<microtime>";
      })
      .replace(/\b10\.0\.0\.\d+\b/g, (ip) => (this.#written.includes(ip) ? ip : this.#numbered("ip", ip)))
      .replace(versionInText, (_, before: string, version: string) => `${before}${this.#known(version)}`);
  }

  #known(version: string): string {
    if (version === "0" || this.#sent(version)) return version;
    return this.#numbers.get("rv")?.has(version) ? this.#numbered("rv", version) : "<rv>";
  }

  #numbered(kind: string, value: string): string {
    const numbers = this.#numbers.get(kind) ?? new Map<string, number>();
    this.#numbers.set(kind, numbers);
    const number = numbers.get(value) ?? numbers.size + 1;
    numbers.set(value, number);
    return `<${kind}:${number}>`;
  }
}

const twoDays = 48 * 3600 * 1000;
const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;
const versionInText =
  /(resource version: |current: |in record \(|object meta: |\\?"resourceVersion\\?":\\?"|too old resource version: \d+ \()(\d+)/g;
const ageColumns = new Set([
  "Age",
  "Last Seen",
  "First Seen",
  "Duration",
  "TimeAdded",
  "Last Schedule",
  "Completed",
]);

/** Lists, Tables and bookmarks: their versions are those of all objects. */
function isCollection(object: Fields): boolean {
  const kind = object["kind"];
  return (
    (typeof kind === "string" && (kind.endsWith("List") || kind === "Table")) ||
    Array.isArray(object["items"])
  );
}

/** Takes the keys away, everywhere; `managedFields` in the order in which they are compared. */
export function without(value: unknown, keys: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, keys));
  if (!isFields(value)) return value;
  const entries = Object.entries(value)
    .filter(([key]) => !keys.has(key))
    .map(([key, item]): [string, unknown] => [
      key,
      key === "managedFields" && Array.isArray(item) ? inOrder(item as Fields[]) : without(item, keys),
    ]);
  return fromEntries(entries);
}

/** The server's own order of managers depends on whole seconds. */
function inOrder(managers: readonly Fields[]): Fields[] {
  const key = (entry: Fields): string =>
    JSON.stringify(["operation", "manager", "subresource", "apiVersion"].map((name) => entry[name] ?? null));
  return [...managers].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** The part of a body that is compared; what is not there is null. */
export function picked(value: unknown, path: Pick): unknown {
  let at = value;
  for (const segment of path) {
    if (segment === "*keys") at = isFields(at) ? Object.keys(at).sort() : null;
    else if (typeof segment === "string") {
      at = typeof at === "object" && at !== null ? (at as Fields)[segment] : undefined;
    } else {
      const [[wanted, value] = ["", undefined]] = Object.entries(segment);
      const has = (item: unknown): boolean =>
        JSON.stringify(fieldAt(item, wanted.split("."))) === JSON.stringify(value);
      at = Array.isArray(at) ? at.find(has) : undefined;
    }
    if (at === undefined) return null;
  }
  return at ?? null;
}

/** The field of an answer that a path of names and indices leads to. */
export function fieldAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) at = typeof at === "object" && at !== null ? (at as Fields)[name] : undefined;
  return at;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `__proto__` is a key like others. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): Fields {
  return Object.fromEntries(entries);
}
