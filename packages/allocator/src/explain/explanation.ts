import type { DeviceTaint } from "@dray/api/resource/v1";
import type { Check } from "../rules/check.ts";

/**
 * Why a node refuses claims, or the devices that it gives them. Plain data: the README documents its JSON
 * form.
 */
export interface Explanation {
  readonly node: string;
  readonly outcome: "allocated" | "refused" | "error";
  /** The refusal or error in kube-scheduler's words. */
  readonly message?: string;
  readonly claims: readonly ClaimExplanation[];
}

export interface ClaimExplanation {
  /** `namespace/name`, or `name` of a claim without a namespace. */
  readonly claim: string;
  readonly requests: readonly RequestExplanation[];
}

/**
 * The result for each device of the node. A device counts once: as chosen, as refused, or otherwise as
 * suitable but not needed, or not reached before the search ended.
 */
export interface RequestExplanation {
  /** `request`, or `request/subrequest` for an alternative. */
  readonly request: string;
  readonly deviceClass: string;
  /** Number of requested devices; in mode All, of those that match the selectors. */
  readonly wanted: number;
  /** The same in digits, where it is more than a number holds exactly. */
  readonly exactWanted?: string;
  /** Number of devices that are offered to the node. */
  readonly seen: number;
  /** Number of devices that pass every check of this request alone. */
  readonly suitable: number;
  /** Their names, `driver/pool/device`; only with `allDevices`. */
  readonly suitableDevices?: readonly string[];
  /** The devices in the solution, or in the deepest partial solution: `driver/pool/device`. */
  readonly chosen: readonly string[];
  /** The other devices, grouped by the first check that ruled them out. */
  readonly refused: readonly RefusalGroup[];
}

/** Devices that one check ruled out for one cause. */
export interface RefusalGroup {
  readonly check: Check;
  /** The cause as text. */
  readonly cause: string;
  readonly count: number;
  /**
   * At most five names `driver/pool/device`, or all with `allDevices`; empty if the whole request is refused.
   */
  readonly devices: readonly string[];
  /** The selector that is false or fails, and the attributes and capacities of the device that it reads. */
  readonly selector?: SelectorDetails;
  /** `other` is the conflicting value; both are absent if the device lacks the attribute. */
  readonly constraint?: {
    readonly kind: "matchAttribute" | "distinctAttribute";
    readonly attribute: string;
    readonly value?: unknown;
    readonly other?: unknown;
    readonly otherDevice?: string;
  };
  /** Consumption of a counter by one device, and the remaining amount. */
  readonly counter?: {
    readonly counterSet: string;
    readonly counter: string;
    readonly asked: string;
    readonly left: string;
  };
  readonly capacity?: CapacityDetails;
  readonly taint?: DeviceTaint;
  /** `namespace/name` of the claim that has the device. */
  readonly holder?: string;
  /** A correction (`Corrections`) with which the check would pass. */
  readonly note?: string;
}

export interface SelectorDetails {
  readonly of: "class" | "request";
  readonly expression: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** The error of its evaluation. */
  readonly error?: string;
  /**
   * Only with an error: the attributes that devices of this kind have, `domain/name`, and their capacities,
   * as far as the selector reads any.
   */
  readonly available?: { readonly attributes?: readonly string[]; readonly capacity?: readonly string[] };
}

export interface CapacityDetails {
  readonly key: string;
  readonly asked: string;
  /** The amount that the request policy of the device rounds the request to, if it differs. */
  readonly counted?: string;
  /** The amount that other claims leave; absent if the device lacks the capacity. */
  readonly left?: string;
  /** The amounts that the request policy accepts: `10 to 50 in steps of 5`; absent if it accepts all. */
  readonly policy?: string;
  /** The largest requests with which the device would have enough; absent if no request is small enough. */
  readonly fitting?: Readonly<Record<string, string>>;
}

export interface ExplainOptions {
  /** Names all devices instead of five per group. */
  readonly allDevices?: boolean;
  /** Ends the search; the node then counts as refusing, which the caller must know. */
  readonly shouldStop?: () => boolean;
}
