import type { PolicyRulesWithSubjects } from "@dray/api/flowcontrol/v1";
import type { UserInfo } from "@dray/client";
import type { FlowSchemaSource } from "../kinds/flowcontrol/flow-schema/order.ts";
import type { RequestInfo } from "../request/info.ts";
import type { FlowCounts } from "./counts.ts";
import { handOf } from "./hand.ts";
import type { PriorityLevel } from "./priority-level.ts";

/** Maximum number of cached hands of a FlowSchema. */
const maxHands = 1000;

/** A FlowSchema in effect, with its priority level. */
export class Flow {
  readonly name: string;
  readonly uid: string;
  readonly level: PriorityLevel;
  readonly counts: FlowCounts;
  readonly rules: readonly PolicyRulesWithSubjects[];
  readonly #method: string | undefined;
  readonly #hands = new Map<string, readonly number[]>();

  constructor({ metadata, spec }: FlowSchemaSource, level: PriorityLevel, counts: FlowCounts) {
    this.name = metadata.name;
    this.uid = metadata.uid ?? "";
    this.level = level;
    this.counts = counts;
    this.rules = spec.rules ?? [];
    this.#method = spec.distinguisherMethod?.type;
  }

  /** Returns the flow distinguisher: requests of the FlowSchema with the same value form one flow. */
  distinguisher({ namespace }: RequestInfo, { name }: UserInfo): string {
    if (this.#method === "ByUser") return name;
    return this.#method === "ByNamespace" ? namespace : "";
  }

  /** Returns the queues that requests with this distinguisher may use. */
  hand(distinguisher: string, queuing: { queues: number; handSize: number }): readonly number[] {
    let hand = this.#hands.get(distinguisher);
    if (hand === undefined) {
      if (this.#hands.size >= maxHands) this.#hands.clear();
      hand = handOf(this.name, distinguisher, queuing);
      this.#hands.set(distinguisher, hand);
    }
    return hand;
  }
}
