import type { KubeObject } from "@dray/api";
import { deepEqual, thaw } from "../storage/json.ts";
import type { AdmissionRequest, Rounds } from "./admission.ts";

/**
 * Tracks which webhooks or policies of a plugin run again in the second round: those with reinvocationPolicy
 * IfNeeded after which the object has changed. Upstream:
 * pkg/admission/plugin/policy/mutating/reinvocationcontext.go
 */
export class Reinvocations {
  /** The object at the end of the plugin's last round. */
  #left: KubeObject | undefined;
  /** Ids that run again after a change. */
  #invoked = new Set<string>();
  readonly #again = new Set<string>();

  /** Call before each round. */
  begin({ object }: AdmissionRequest, rounds: Rounds): void {
    if (rounds.second && !deepEqual(this.#left, object)) this.changed();
  }

  /** Call after each round. */
  end({ object }: AdmissionRequest): void {
    this.#left = object === undefined ? undefined : thaw(object);
  }

  /** Adds a webhook or policy that has run and has reinvocationPolicy IfNeeded. */
  invoked(id: string): void {
    this.#invoked.add(id);
  }

  /** Schedules all that were added for the second round. */
  changed(): void {
    for (const id of this.#invoked) this.#again.add(id);
    this.#invoked = new Set();
  }

  isWanted(id: string): boolean {
    return this.#again.has(id);
  }
}
