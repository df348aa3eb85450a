import { withAuditId } from "./audit-id.ts";
import { withAuthentication } from "./authentication.ts";
import { withAuthorization } from "./authorization.ts";
import type { CallHandler, Filter } from "./call.ts";
import { withFailures } from "./failures.ts";
import { withImpersonation } from "./impersonation.ts";
import { withLargeResponses } from "./large-responses.ts";
import type { FilterParts } from "./parts.ts";
import { withPassedOnLimit } from "./passed-on.ts";
import { withPriorityAndFairness } from "./priority-and-fairness.ts";
import { withRequestInfo } from "./request-info.ts";
import { withRequestMetrics } from "./request-metrics.ts";
import { withTimeout } from "./timeout.ts";

/**
 * The filters of every request, the outermost first. Behind the last one is the handler of the request.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/server/config.go, DefaultBuildHandlerChain, which names the
 * innermost first
 */
function filters(parts: FilterParts): readonly Filter[] {
  return [
    withAuditId(parts),
    withRequestMetrics(parts),
    withFailures(parts),
    withRequestInfo(),
    withTimeout(parts),
    withAuthentication(parts),
    withImpersonation(parts),
    withPriorityAndFairness(parts),
    withLargeResponses(parts),
    withAuthorization(parts),
    withPassedOnLimit(parts),
  ];
}

/** Wraps a handler in the filters. */
export function buildChain(parts: FilterParts, handler: CallHandler): CallHandler {
  return filters(parts).reduceRight((next, filter) => filter(next), handler);
}
