import type { Provenance } from "@dray/api";
import type { ApiRequest, Clock, Log, UserInfo } from "@dray/client";
import type { Authenticator } from "../authentication/authenticate.ts";
import type { ServiceAccountTokens } from "../authentication/service-account.ts";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { Rbac } from "../authorization/rbac.ts";
import type { Representation } from "../encoding/representation.ts";
import type { TableOptions } from "../encoding/table.ts";
import type { WatchProgress } from "../flowcontrol/limiter.ts";
import { headersOf } from "../http/warnings.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { KubeletClient } from "../proxy/kubelet.ts";
import type { LoopbackPods } from "../proxy/loopback-pods.ts";
import type { Accepted } from "../request/accept.ts";
import type { RequestInfo } from "../request/info.ts";
import type { Pause } from "../request/large-work.ts";
import type { UsageCollector } from "../resource-metrics/collector.ts";
import type { Registry } from "../write/registry.ts";

/** A request in the handlers: the parsed request, the user, and dependencies. */
export interface Context {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly served: ServedResource;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a random number from 0 up to 1. */
  readonly random: () => number;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly rbac: Rbac;
  readonly tokens: ServiceAccountTokens;
  readonly authenticator: Authenticator;
  /** All served resources, by `group/version/resource`. */
  readonly resources: ReadonlyMap<string, ServedResource>;
  readonly kubelet: KubeletClient;
  readonly loopbackPods: LoopbackPods | undefined;
  /** For metrics.k8s.io. */
  readonly usage: UsageCollector;
  /** Texts of Warning headers; handlers add to it. */
  readonly warnings: Set<string>;
  /** Provenance of the objects of the request; decoding adds to it. */
  readonly provenance: Provenance;
  /** Awaited between two steps of work that grows with the size of the body. */
  readonly pause: Pause;
  /** Reports the progress of a watch, if it is counted. */
  readonly watch?: WatchProgress;
}

/** Adds warnings to the response, without duplicates, also when a patch is retried. */
export function warn({ warnings }: Pick<Context, "warnings">, texts: readonly string[]): void {
  for (const text of texts) warnings.add(text);
}

/** Returns the Table options of the query; they are validated when a Table is built. */
export function tableOptions({ info, clock }: Pick<Context, "info" | "clock">): TableOptions {
  return { includeObject: info.query.get("includeObject") || "Metadata", now: clock.now() };
}

/** Returns how the response to this request is represented, for a resource other than its own if given. */
export function representation(
  context: Context,
  accepted: Accepted,
  served: ServedResource = context.served,
): Representation {
  return { served, accepted, table: tableOptions(context), headers: headersOf(context) };
}
