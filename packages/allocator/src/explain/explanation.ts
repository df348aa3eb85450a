import type { DeviceTaint } from "@dray/api/resource/v1";
import type { Check } from "../rules/check.ts";

/** Why a node refuses claims, or how it serves them. Plain data: its JSON form is documented in this package's README. */
export interface Explanation {
  readonly node: string;
  readonly outcome: "allocated" | "refused" | "error";
  /** The text of a refusal or an error, as kube-scheduler reports it. */
  readonly message?: string;
  readonly claims: readonly ClaimExplanation[];
}

/** What became of each request of a claim. */
export interface ClaimExplanation {
  /** `namespace/name`, or `name` of a claim without a namespace. */
  readonly claim: string;
  readonly requests: readonly RequestExplanation[];
}

/**
 * What became of each device for one request. It counts once: chosen, refused, or else suitable but not needed, or not
 * met before the search was over.
 */
export interface RequestExplanation {
  /** `request`, or `request/subrequest` for an alternative. */
  readonly request: string;
  readonly deviceClass: string;
  /** Devices asked for; of mode All those that its selectors choose. */
  readonly wanted: number;
  /** Devices that the node can reach. */
  readonly seen: number;
  /** Devices that pass every check of this request alone. */
  readonly suitable: number;
  /** Them, `driver/pool/device`; only where all devices are named. */
  readonly suitableDevices?: readonly string[];
  /** What the solution, or the deepest partial one, gives it: `driver/pool/device`. */
  readonly chosen: readonly string[];
  /** The devices that were ruled out, grouped by the first check that did it. */
  readonly refused: readonly RefusalGroup[];
}

/** Devices that one check ruled out for one cause. */
export interface RefusalGroup {
  readonly check: Check;
  /** What exactly, in words. */
  readonly cause: string;
  readonly count: number;
  /** At most five names, `driver/pool/device`, or all; empty where the request as a whole is refused. */
  readonly devices: readonly string[];
  /** The selector that is false, with the attributes and capacities of the device that it read. */
  readonly selector?: {
    readonly expression: string;
    readonly values: Readonly<Record<string, unknown>>;
  };
  /** `other` is the value, and its device, that the rule compares with; absent where the attribute itself is. */
  readonly constraint?: {
    readonly kind: "matchAttribute" | "distinctAttribute";
    readonly attribute: string;
    readonly value?: unknown;
    readonly other?: unknown;
    readonly otherDevice?: string;
  };
  /** What one device asks of a counter, and what is left. */
  readonly counter?: {
    readonly counterSet: string;
    readonly counter: string;
    readonly asked: string;
    readonly left: string;
  };
  readonly capacity?: { readonly key: string; readonly asked: string; readonly left?: string };
  readonly taint?: DeviceTaint;
  /** `namespace/name` of the claim that holds the device. */
  readonly holder?: string;
  /** A correction (`Corrections`) under which this would not stand in the way. */
  readonly note?: string;
}

export interface ExplainOptions {
  readonly allDevices?: boolean;
  readonly shouldStop?: () => boolean;
}
