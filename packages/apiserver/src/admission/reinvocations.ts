import type { KubeObject } from "@dray/api";
import { deepEqual, thaw } from "../storage/json.ts";
import type { AdmissionRequest, Rounds } from "./admission.ts";

/**
 * Which webhooks or policies of one plugin run in the second round because the object has changed since they ran
 * (reinvocationPolicy IfNeeded). Upstream: pkg/admission/plugin/policy/mutating/reinvocationcontext.go
 */
export class Reinvocations {
  /** The object as the plugin has left it. */
  #left: KubeObject | undefined;
  /** Those that have run and want to see later changes. */
  #invoked = new Set<string>();
  readonly #again = new Set<string>();

  /** To be called before each round. */
  begin({ object }: AdmissionRequest, rounds: Rounds): void {
    if (rounds.second && !deepEqual(this.#left, object)) this.changed();
  }

  /** To be called after each round. */
  end({ object }: AdmissionRequest): void {
    this.#left = object === undefined ? undefined : thaw(object);
  }

  /** Notes one that has run; `id` tells it from the others. */
  invoked(id: string): void {
    this.#invoked.add(id);
  }

  /** All that have been noted run in the second round. */
  changed(): void {
    for (const id of this.#invoked) this.#again.add(id);
    this.#invoked = new Set();
  }

  isWanted(id: string): boolean {
    return this.#again.has(id);
  }
}
