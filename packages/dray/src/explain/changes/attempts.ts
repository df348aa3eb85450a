import type { KubeObject } from "@dray/api";
import type { Change } from "../data.ts";
/** A change of one object that may help. */
export interface Candidate extends Omit<Change, "node"> {
  readonly object: KubeObject;
  /** Returns the object as it would be; changes of the same object can follow each other. */
  edit(object: KubeObject): KubeObject;
}

/** Counts what is tried, up to a maximum. */
export class Attempts {
  readonly #max: number;
  tried = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get areOver(): boolean {
    return this.tried >= this.#max;
  }

  /** Tries once more. Resolves to null if it does not help, and once the maximum is reached. */
  async ask(land: () => Promise<string | null>): Promise<string | null> {
    if (this.areOver) return null;
    this.tried++;
    return land();
  }
}
