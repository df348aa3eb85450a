import { Provenance } from "../codec/provenance.ts";
import type { FieldError } from "../errors/field-error.ts";
import { maxErrorText } from "../errors/invalid.ts";
import type { KubernetesVersion } from "../features/features.ts";
import { quoted } from "../text/quoted.ts";
import type { NameRule } from "../values/names.ts";

/** JSON as Go writes it into messages: no bigint is lost, `<`, `>`, `&` are escaped; `indent` in blanks. */
export function goJson(value: unknown, indent?: number): string {
  if (value === undefined) return "null";
  const text = withoutBigints(value, indent) ?? withBigints(value, indent);
  return text.replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Undefined for what holds a bigint. A function that looks for one takes most of the time of a long text. */
function withoutBigints(value: unknown, indent: number | undefined): string | undefined {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch {
    return undefined;
  }
}

/** JSON has no word for a bigint: its digits go through as a marked text and lose the mark after. */
function withBigints(value: unknown, indent: number | undefined): string {
  const mark = "\u0000";
  const marked = JSON.stringify(
    value,
    (_key, item: unknown) => (typeof item === "bigint" ? mark + item : item),
    indent,
  );
  return marked.replace(/"\\u0000(-?[0-9]+)"/g, "$1");
}

/** A text that messages print as JSON: in Go it is behind a pointer, or of a type of its own. */
export function asTyped(value: string | undefined): unknown {
  return value === undefined ? null : { toJSON: () => value };
}

/** The release whose texts count, and the provenance that messages print values by. */
export interface Shown {
  /** The release whose error texts are used where releases differ. */
  readonly release: KubernetesVersion;
  /** Absent where nothing that came empty is shown as such. */
  readonly provenance?: Provenance | undefined;
}

/** A list as messages print it: `[]` for one that came empty, null for none. */
export function printedList<T extends object>(
  { provenance }: Shown,
  owner: T | undefined,
  name: keyof T & string,
): unknown {
  return owner?.[name] ?? (provenance?.cameEmpty(owner, name) ? [] : null);
}

/** A map as messages print it: by its keys in order, `{}` for one that came empty, null for none. */
export function printedMap<T extends object>(
  { provenance }: Shown,
  owner: T | undefined,
  name: keyof T & string,
): unknown {
  const map = owner?.[name];
  if (!map) return provenance?.cameEmpty(owner, name) ? {} : null;
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function shown(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean")
    return String(value);
  return goJson(value);
}

/** Shared by all scopes of one validation. */
interface Findings {
  readonly list: FieldError[];
  readonly release: KubernetesVersion;
  readonly provenance: Provenance;
  /** Length of the texts in the list. */
  text: number;
}

function noFindings({ release, provenance = new Provenance() }: Shown): Findings {
  return { list: [], release, provenance, text: 0 };
}

/**
 * Field errors in the order they are found, and the place in the object at which the methods add them:
 * `errors.at("spec").at("requests").index(0)` adds to the same list, at `spec.requests[0]`. A method adds one
 * error of the type it is named after. The text of a path is only made for an error that is kept; errors
 * beyond `maxErrorText` are dropped.
 */
export class FieldErrors implements Shown {
  #findings: Findings;
  /** Undefined for the whole object. */
  readonly #parent: FieldErrors | undefined;
  readonly #segment: string | number;
  /** Whether the path shows the segment in brackets. */
  readonly #isItem: boolean;

  /** An empty list; other `FieldErrors` give it their release and provenance. The rest is for scopes. */
  constructor(shown: Shown, parent?: FieldErrors, segment: string | number = "", isItem = false) {
    this.#findings = parent === undefined ? noFindings(shown) : parent.#findings;
    this.#parent = parent;
    this.#segment = segment;
    this.#isItem = isItem;
  }

  /** The scope of a field: its name, or a path from here such as `pool.name`. */
  at(name: string): FieldErrors {
    return new FieldErrors(this, this, name);
  }

  /** The scope of an item of this list. */
  index(index: number): FieldErrors {
    return new FieldErrors(this, this, index, true);
  }

  /** The scope of a value of this map. */
  key(key: string): FieldErrors {
    return new FieldErrors(this, this, key, true);
  }

  /** The same place, whose errors go to the list of another validation. */
  into(other: FieldErrors): FieldErrors {
    const scope = new FieldErrors(other, this.#parent, this.#segment, this.#isItem);
    scope.#findings = other.#findings;
    return scope;
  }

  /** The same place with a list of its own, for a check whose errors decide what is checked next. */
  detached(): FieldErrors {
    return this.into(new FieldErrors(this));
  }

  /** `spec.devices.requests[0].name`; empty for the whole object. */
  get path(): string {
    const scopes: FieldErrors[] = [];
    for (let scope: FieldErrors = this; scope.#parent !== undefined; scope = scope.#parent)
      scopes.push(scope);
    let path = "";
    for (const scope of scopes.reverse()) {
      if (scope.#isItem) path += `[${scope.#segment}]`;
      else path = path === "" ? String(scope.#segment) : `${path}.${scope.#segment}`;
    }
    return path;
  }

  /** All errors, whatever the scope. */
  get list(): readonly FieldError[] {
    return this.#findings.list;
  }

  /** The release whose error texts are used where releases differ. */
  get release(): KubernetesVersion {
    return this.#findings.release;
  }

  /** Provenance of the validated object. */
  get provenance(): Provenance {
    return this.#findings.provenance;
  }

  /**
   * The errors as they are reported. Since 1.37 each is there once, however often it was found.
   *
   * Upstream: staging/src/k8s.io/apimachinery/pkg/api/validate/errors.go, FilterCoveredHandwrittenErrors
   */
  get reported(): readonly FieldError[] {
    if (this.list.length < 2 || this.release < "1.37") return this.list;
    const found = new Set<string>();
    return this.list.filter(({ type, path, value, detail }) => {
      const text = JSON.stringify([type, path, value, detail]);
      return !found.has(text) && found.add(text);
    });
  }

  /** True if all further errors are dropped, so that checks of long lists can stop. */
  get full(): boolean {
    return this.#findings.text > maxErrorText;
  }

  /** Adds an error. `value` and `detail` are called only if the error is kept. */
  #add(type: FieldError["type"], value: (() => string) | undefined, detail: () => string): void {
    if (this.full) return;
    const shownValue = value === undefined ? {} : { value: value() };
    this.addAll([{ type, path: this.path, ...shownValue, detail: detail() }]);
  }

  /** Adds errors of another validation, with the paths that they have there. */
  addAll(errors: Iterable<FieldError>): void {
    for (const error of errors) {
      if (this.full) return;
      this.#findings.text += error.path.length + (error.value?.length ?? 0) + error.detail.length;
      this.#findings.list.push(error);
    }
  }

  /** Removes all errors, whatever the scope. */
  clear(): void {
    this.#findings.list.length = 0;
    this.#findings.text = 0;
  }

  required(detail = ""): void {
    this.#add("Required", undefined, () => detail);
  }

  invalid(value: unknown, detail: string): void {
    this.#add(
      "Invalid",
      () => shown(value),
      () => detail,
    );
  }

  /** A value of another type than the schema of a custom resource says. */
  typeInvalid(value: unknown, detail: string): void {
    this.#add(
      "TypeInvalid",
      () => shown(value),
      () => detail,
    );
  }

  /** Invalid without the value in the message. */
  wrong(detail: string): void {
    this.#add("Invalid", undefined, () => detail);
  }

  /** Invalid unless absent or at least 0. */
  notNegative(value: number | bigint | undefined): void {
    if (value === undefined || value === null || value >= 0) return;
    this.invalid(value, "must be greater than or equal to 0");
  }

  duplicate(value: unknown, detail = ""): void {
    this.#add(
      "Duplicate",
      () => shown(value),
      () => detail,
    );
  }

  notFound(value: unknown, detail = ""): void {
    this.#add(
      "NotFound",
      () => shown(value),
      () => detail,
    );
  }

  notSupported(value: unknown, supported: readonly string[]): void {
    // Go has types of their own for such values, and prints those as JSON.
    this.#add(
      "NotSupported",
      () => goJson(value === undefined ? "" : value),
      () => `supported values: ${supported.map(quoted).join(", ")}`,
    );
  }

  forbidden(detail: string): void {
    this.#add("Forbidden", undefined, () => detail);
  }

  tooLong(limit: number): void {
    this.#add("TooLong", undefined, () => `may not be more than ${limit} byte${limit === 1 ? "" : "s"}`);
  }

  tooMany(count: number, limit: number): void {
    this.#add(
      "TooMany",
      () => String(count),
      () => `must have at most ${limit} item${limit === 1 ? "" : "s"}`,
    );
  }

  internal(detail: string): void {
    this.#add("InternalError", undefined, () => detail);
  }

  /** One Invalid for each thing that the rule finds wrong. */
  check(rule: NameRule, value: string): void {
    for (const problem of rule(value)) this.invalid(value, problem);
  }

  /** Required where empty, else as `check`. */
  checkRequired(rule: NameRule, value: string | undefined): void {
    if (value) this.check(rule, value);
    else this.required();
  }

  /** Not supported unless it is one of the values; Required where it is empty. */
  oneOf(value: string | undefined, supported: readonly string[]): void {
    if (!value) this.required();
    else if (!supported.includes(value)) this.notSupported(value, supported);
  }

  /** Each item of a list, unless the list is too long: then that is the only error. */
  items<T>(
    list: readonly T[] | undefined,
    limit: number,
    check: (errors: FieldErrors, item: T) => void,
  ): boolean {
    const items = list ?? [];
    if (items.length > limit) {
      this.tooMany(items.length, limit);
      return false;
    }
    items.forEach((item, index) => {
      check(this.index(index), item);
    });
    return true;
  }

  /** As `items`, for a list whose items have keys that no two share. */
  set<T>(
    list: readonly T[] | undefined,
    limit: number,
    check: (errors: FieldErrors, item: T) => void,
    keyOf: (item: T) => unknown,
  ): void {
    if (!this.items(list, limit, check)) return;
    const seen = new Set<string>();
    (list ?? []).forEach((item, index) => {
      const key = keyOf(item);
      const text = goJson(key);
      if (seen.has(text)) this.index(index).duplicate(key);
      seen.add(text);
    });
  }
}

/** Asks of one value after the other whether it was there before: lists may have 100,000 of them. */
export function seenBefore(): (value: unknown) => boolean {
  const seen = new Set<unknown>();
  return (value) => {
    if (seen.has(value)) return true;
    seen.add(value);
    return false;
  };
}

/** No limit on the length of a list. */
export const unlimited = Number.POSITIVE_INFINITY;

/**
 * True where two decoded values mean the same to Kubernetes: absent, null and empty list are one.
 * `provenance` has the texts by which raw JSON is compared; without it the values count.
 */
export function sameValue(a: unknown, b: unknown, provenance?: Provenance): boolean {
  if (a === b) return true;
  if (isEmpty(a) && isEmpty(b)) return true;
  if (typeof a === "bigint" || typeof b === "bigint") {
    return (typeof a === "number" || typeof b === "number") && String(a) === String(b);
  }
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (provenance?.rawText(a) !== provenance?.rawText(b)) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => sameValue(item, b[index], provenance));
  }
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  for (const key in left) if (!sameValue(left[key], own(right, key), provenance)) return false;
  for (const key in right) if (!Object.hasOwn(left, key) && !isEmpty(right[key])) return false;
  return true;
}

function own(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) && value.length === 0;
}

/**
 * The immutable-field error of Kubernetes, unless both are the same; `shownAs` makes what the message prints.
 */
export function checkImmutable(
  errors: FieldErrors,
  value: unknown,
  old: unknown,
  shownAs: () => unknown = () => value,
): void {
  if (!sameValue(value, old, errors.provenance)) errors.invalid(shownAs(), "field is immutable");
}

/** Items by name; of those of one name the first. */
export function byName<T extends { readonly name?: string | undefined }>(
  items: readonly T[],
): ReadonlyMap<string | undefined, T> {
  return new Map(items.toReversed().map((item) => [item.name, item]));
}
