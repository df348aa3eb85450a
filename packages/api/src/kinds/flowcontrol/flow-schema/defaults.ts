/** Upstream: pkg/apis/flowcontrol/v1/defaults.go */
import type { FlowSchema } from "../../../generated/flowcontrol/v1.ts";
import type { Wire } from "../../../objects/wire.ts";

export function defaultFlowSchema({ spec }: Wire<FlowSchema>): void {
  if (spec) spec.matchingPrecedence ||= 1000;
}
