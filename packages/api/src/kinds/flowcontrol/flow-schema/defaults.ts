/** Upstream: pkg/apis/flowcontrol/v1/defaults.go */
import type { FlowSchema } from "../../../generated/flowcontrol/v1.ts";

export function defaultFlowSchema({ spec }: FlowSchema): void {
  if (spec) spec.matchingPrecedence ||= 1000;
}
