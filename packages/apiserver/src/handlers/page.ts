import type { KubeObject } from "@dray/api";
import type { Stored } from "../storage/cache.ts";
import type { Selection } from "./select.ts";

/** One page of a list: selected objects are added until it is full. */
export class Page {
  readonly #selection: Selection;
  readonly #limit: number;
  readonly #one: boolean;
  /** In their stored version. */
  readonly items: KubeObject[] = [];
  /** The key of the last item. */
  last = "";
  /**
   * Number of objects behind the page. With a selection, 1 stands for any number: whether any of them is
   * selected is known only when they are read.
   */
  remaining = 0;
  /** Number of objects from the beginning of the page, if known: then they need not be counted. */
  behind: number | undefined;

  /** With `limit` 0 the page is never full; `one`: at most one object can be selected. */
  constructor(selection: Selection, limit: number, one: boolean) {
    this.#selection = selection;
    this.#limit = limit;
    this.#one = one;
  }

  fill(found: Iterable<Stored>): void {
    for (const stored of found) if (!this.#take(stored)) return;
  }

  async read(found: AsyncIterable<Stored>): Promise<void> {
    for await (const stored of found) if (!this.#take(stored)) return;
  }

  /** Returns false when the page needs no more objects. */
  #take({ key, object }: Stored): boolean {
    if (this.#limit > 0 && this.items.length === this.#limit) {
      if (this.#one) return false;
      this.remaining = this.behind === undefined ? this.remaining + 1 : this.behind - this.items.length;
      return this.#selection.all && this.behind === undefined;
    }
    if (!this.#selection.matches(object)) return true;
    this.items.push(object);
    this.last = key;
    return true;
  }
}
