import type { ResourceSlice, ResourceSliceSpec } from "@dray/api/resource/v1";
import { contentKey, droppedBy, keepTimes, type SliceContent } from "./slices.ts";

/** Forgetting one costs an update that changes nothing. */
const maxAdopted = 1000;

/** Slices as the server has stored them, where it changed them: dropped fields, other spellings. */
export class StoredSlices {
  readonly #adopted = new Map<string, string>();

  /** True if `actual` is what the server makes of `content`. */
  same(content: SliceContent, actual: ResourceSliceSpec): boolean {
    const key = contentKey(keepTimes(content, actual));
    const found = contentKey(actual);
    return found === key || found === this.#adopted.get(key);
  }

  /**
   * Remembers what became of a slice; returns the feature gates that are off where fields were dropped, once.
   */
  adopt(sent: SliceContent, stored: ResourceSlice): readonly string[] {
    const key = contentKey(keepTimes(sent, stored.spec));
    const found = contentKey(stored.spec);
    if (found === key || this.#adopted.get(key) === found) return [];
    if (this.#adopted.size >= maxAdopted) this.#adopted.clear();
    this.#adopted.set(key, found);
    return droppedBy(sent, stored.spec);
  }
}
