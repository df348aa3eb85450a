/**
 * Details of sent objects that decoding drops and that some rules and messages of the API server depend on:
 * lists and maps that came empty, and the text of raw JSON. It belongs to one request, stands beside its
 * objects, and is handed to the functions that need it. A copy of an object has them only by `keep` or
 * `keepEmpty`.
 */
export class Provenance {
  #empty: Map<object, Map<string, unknown>> | undefined;
  #rawTexts: Map<object, string> | undefined;
  readonly #storedTexts: RawTexts | undefined;

  /** `storedTexts` has the texts of stored objects, with which new ones are compared. */
  constructor(storedTexts?: RawTexts) {
    this.#storedTexts = storedTexts;
  }

  /** Adds the details of the objects of another decoding. */
  adopt(other: Provenance): void {
    this.adoptEmpty(other);
    for (const [value, text] of other.#rawTexts ?? []) this.noteRawText(value, text);
  }

  /** As `adopt`, without the texts of raw JSON. */
  adoptEmpty(other: Provenance): void {
    for (const [object, fields] of other.#empty ?? []) this.#emptyFields(object, fields);
  }

  /**
   * Notes that a list or map came empty; the object does not have it, because it is written as if it had not
   * come. `value` is the list or map that came.
   */
  noteEmpty(object: object, field: string, value: unknown = []): void {
    this.#emptyFields(object, [[field, value]]);
  }

  #emptyFields(object: object, fields: Iterable<readonly [string, unknown]>): void {
    this.#empty ??= new Map();
    const known = this.#empty.get(object);
    if (known === undefined) this.#empty.set(object, new Map(fields));
    else for (const [field, value] of fields) known.set(field, value);
  }

  /** Removes the note that a list or map came empty. */
  forgetEmpty(object: object, field: string): void {
    this.#empty?.get(object)?.delete(field);
  }

  /** Copies the notes about empty fields from an object to a copy of it, or of a part of it. */
  keepEmpty<T extends object>(copy: T, original: object): T {
    const fields = this.#empty?.get(original);
    if (fields !== undefined) this.#emptyFields(copy, fields);
    return copy;
  }

  /** Copies all notes from an object to an equal copy of it. */
  keep(copy: object, original: object): void {
    this.keepEmpty(copy, original);
    const text = this.#rawTexts?.get(original);
    if (text !== undefined) this.noteRawText(copy, text);
  }

  /** Removes all notes about empty fields of an object, but not of its parts. */
  forgetAllEmpty(object: object): void {
    this.#empty?.delete(object);
  }

  /**
   * True for a list or map that a client has sent empty. Storing loses the difference to one that was not
   * sent, but some rules and messages of the API server depend on it.
   */
  cameEmpty(object: object | null | undefined, field: string): boolean {
    return object != null && (this.#empty?.get(object)?.has(field) ?? false);
  }

  /**
   * The value with an empty list or map wherever one was received and null is written; the value itself if it
   * has no such field. The API server sees an object in this form before it is stored, and counts such a
   * field as one that the client sets.
   */
  withEmpty<T>(value: T): T {
    return this.#empty === undefined ? value : this.#restored(value, this.#empty);
  }

  #restored<T>(value: T, empty: ReadonlyMap<object, ReadonlyMap<string, unknown>>): T {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    let copy: Record<string, unknown> | undefined;
    for (const key of Object.keys(value)) {
      const item = (value as Record<string, unknown>)[key];
      // Looked up for null only, which is rare: this runs over every object that is written.
      const restored: unknown =
        item === null ? (empty.get(value)?.get(key) ?? null) : this.#restored(item, empty);
      if (restored === item) continue;
      copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
      copy[key] = restored;
    }
    return (copy as T | undefined) ?? value;
  }

  /** Notes the text of raw JSON that has blanks between its parts. */
  noteRawText(value: object, text: string): void {
    this.#rawTexts ??= new Map();
    this.#rawTexts.set(value, text);
  }

  /** The text of raw JSON with blanks between its parts, by which it is compared; undefined for all else. */
  rawText(value: object): string | undefined {
    return this.#rawTexts?.get(value) ?? this.#storedTexts?.get(value);
  }

  /** The noted texts of raw JSON, by value. */
  get rawTexts(): Iterable<readonly [value: object, text: string]> {
    return this.#rawTexts ?? [];
  }
}

/** Texts of raw JSON by value. */
export interface RawTexts {
  get(value: object): string | undefined;
}
