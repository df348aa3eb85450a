import type { KubeObject } from "@dray/api";
import type { Change, ChangeKind } from "../data.ts";

/** A change of one object that may help. */
export interface Candidate extends Omit<Change, "node"> {
  readonly object: KubeObject;
  /** Returns the changed object; several changes of one object can be applied in turn. */
  edit(object: KubeObject): KubeObject;
}

/** Counts attempts, up to a maximum. */
export class Attempts {
  readonly #max: number;
  /** The kinds of changes that were tried, in the order of their first attempts. */
  readonly kinds = new Set<ChangeKind>();
  tried = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get areOver(): boolean {
    return this.tried >= this.#max;
  }

  /** Makes one more attempt. Resolves to null if it does not help or the maximum is reached. */
  async ask(kind: ChangeKind, land: () => Promise<string | null>): Promise<string | null> {
    if (this.areOver) return null;
    this.tried++;
    this.kinds.add(kind);
    return land();
  }
}
