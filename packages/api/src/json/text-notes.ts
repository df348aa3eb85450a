export type Entry = readonly [key: string, value: unknown];

/** Notes of a parser on the text of one tree, by the objects and lists of that tree. */
export class TextNotes {
  #entries: Map<object, readonly Entry[]> | undefined;
  #literals: Map<object, ReadonlyMap<string | number, string>> | undefined;
  #looseTexts: Map<object, string> | undefined;

  setEntries(object: object, entries: readonly Entry[]): void {
    this.#entries ??= new Map();
    this.#entries.set(object, entries);
  }

  setLiterals(container: object, literals: ReadonlyMap<string | number, string>): void {
    this.#literals ??= new Map();
    this.#literals.set(container, literals);
  }

  setLooseText(value: object, text: string): void {
    this.#looseTexts ??= new Map();
    this.#looseTexts.set(value, text);
  }

  /** Whether any key is repeated. */
  get hasRepeatedKeys(): boolean {
    return this.#entries !== undefined;
  }

  /**
   * The keys and values of an object as its text has them, repeated keys included; undefined if no key is
   * repeated.
   */
  repeatedEntries(object: object): readonly Entry[] | undefined {
    return this.#entries?.get(object);
  }

  /** Keys that stood more than once in the text of this object, in order; the last value counts. */
  duplicateKeys(object: object): readonly string[] {
    const seen = new Set<string>();
    const repeated: string[] = [];
    for (const [key] of this.repeatedEntries(object) ?? []) {
      if (seen.has(key)) repeated.push(key);
      seen.add(key);
    }
    return repeated;
  }

  /**
   * The text of a number in that list or object where the number does not tell it: `1.0`, `1e3`. Go reads
   * neither as a whole number, and keeps the second as a quantity.
   */
  literalOf(container: object, key: string | number): string | undefined {
    return this.#literals?.get(container)?.get(key);
  }

  /** The text of an object or list with blanks between its parts; undefined for compact text. */
  looseText(value: object): string | undefined {
    return this.#looseTexts?.get(value);
  }
}
