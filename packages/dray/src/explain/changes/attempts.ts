import type { KubeObject } from "@dray/api";
import { labelOfObject } from "../../manifests/place.ts";
import type { Change, ChangeKind, Landing } from "../data.ts";
import type { Changed } from "../trial.ts";

/** A change of one object. */
export interface Edit {
  readonly object: KubeObject;
  /** Returns the changed object; several edits of one object can be applied in turn. */
  edit(object: KubeObject): KubeObject;
}

/** A change that may help. */
export interface Candidate extends Omit<Change, keyof Landing> {
  readonly edits: readonly Edit[];
  /** Labels of the objects that it removes. */
  readonly gone?: readonly string[];
  /** Only the first helpful one of the candidates with the same text here is reported. */
  readonly once?: string;
}

/** Applies candidates in turn. */
export function applied(candidates: readonly Candidate[]): Changed {
  const objects = new Map<string, KubeObject>();
  for (const { object, edit } of candidates.flatMap(({ edits }) => edits)) {
    const label = labelOfObject(object);
    objects.set(label, edit(objects.get(label) ?? object));
  }
  return {
    objects: [...objects.values()],
    gone: new Set(candidates.flatMap(({ gone = [] }) => gone)),
  };
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
  async ask(kind: ChangeKind, land: () => Promise<Landing | null>): Promise<Landing | null> {
    if (this.areOver) return null;
    this.tried++;
    this.kinds.add(kind);
    return land();
  }
}
