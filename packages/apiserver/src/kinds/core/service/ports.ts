import { invalid, type StatusError } from "@dray/api";
import type { Service, ServiceSpec } from "@dray/api/core/v1";
import { serverError } from "../../../errors/status.ts";
import type { Storage } from "../../../storage/storage.ts";
import type { ChosenValues, StrategyContext } from "../../strategy.ts";
import { internalError } from "./addresses.ts";
import { chooseFree } from "./ranges.ts";

/** First and last node port of services (--service-node-port-range). */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export const defaultPortRange: PortRange = { first: 30_000, last: 32_767 };

/**
 * Returns the number of ports at the beginning of a range that are assigned only on request, or when the rest
 * is full (KEP-3668).
 */
function reservedPorts({ first, last }: PortRange): number {
  const size = last - first + 1;
  return size <= 16 ? 0 : Math.min(Math.max(Math.floor(size / 32), 16), 128);
}

export const needsHealthCheck = (spec: ServiceSpec): boolean =>
  spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";

/** Reports whether services of this type have node ports. */
const hasNodePorts = ({ type }: ServiceSpec): boolean => type === "NodePort" || type === "LoadBalancer";

/** Reports whether the server assigns node ports to a service that does not request any. */
export const getsNodePorts = (spec: ServiceSpec): boolean =>
  spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);

/** Returns the node ports of a service. */
function heldPorts(spec: ServiceSpec | undefined): ReadonlySet<number> {
  const ports = (spec?.ports ?? []).map(({ nodePort }) => nodePort ?? 0);
  return new Set([...ports, spec?.healthCheckNodePort ?? 0].filter((port) => port !== 0));
}

/** View of the ports by one request: allocated to it, unless a concurrent request is faster. */
class Draft {
  readonly service: Service;
  readonly #taken: Set<number>;
  readonly #range: PortRange;
  readonly #random: () => number;
  /** Ports chosen by the server, not requested; another port may replace them. */
  readonly chosen = new Set<number>();

  constructor(service: Service, taken: Set<number>, range: PortRange, random: () => number) {
    this.service = service;
    this.#taken = taken;
    this.#range = range;
    this.#random = random;
  }

  /** Allocates a port; returns the error if it is out of range or allocated already. */
  take(port: number): string | undefined {
    const { first, last } = this.#range;
    if (port < first || port > last)
      return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
    if (this.#taken.has(port)) return "provided port is already allocated";
    this.#taken.add(port);
    return undefined;
  }

  /** Allocates a requested port. Throws 422. */
  need(port: number, index: number): number {
    const refusal = this.take(port);
    if (refusal === undefined) return port;
    throw refused(this.service, index, port, refusal);
  }

  next(what: string): number {
    const reserved = BigInt(reservedPorts(this.#range));
    const range = { first: BigInt(this.#range.first), last: BigInt(this.#range.last), reserved };
    const free = chooseFree(range, (port) => this.#taken.has(Number(port)), this.#random);
    if (free === undefined) throw internalError(`failed to allocate a ${what}: range is full`);
    const port = Number(free);
    this.#taken.add(port);
    this.chosen.add(port);
    return port;
  }
}

/**
 * View of the ports by a dry run: checks allocated ports, but not the range, and assigns ports beyond the
 * range, which no service would get.
 *
 * Upstream: pkg/registry/core/service/portallocator/operation.go
 */
class DryDraft extends Draft {
  readonly #others: ReadonlySet<number>;
  readonly #own = new Set<number>();
  #last = firstPretended;

  constructor(service: Service, taken: Set<number>, range: PortRange, random: () => number) {
    super(service, taken, range, random);
    this.#others = taken;
  }

  override take(port: number): string | undefined {
    if (this.#others.has(port) || this.#own.has(port)) return "provided port is already allocated";
    this.#last = this.#own.size === 0 ? port : Math.max(this.#last, port);
    this.#own.add(port);
    return undefined;
  }

  override next(): number {
    this.#last++;
    this.#own.add(this.#last);
    return this.#last;
  }
}

const firstPretended = 32_768;

/** Assigns node ports to services. */
export class NodePorts {
  readonly #storage: Storage;
  readonly #range: PortRange;
  readonly #random: () => number;
  /** Ports of services whose write is in progress, with the uids of the services. */
  readonly #pending = new Map<number, string>();

  /** `random` returns a number from 0 to below 1. */
  constructor(storage: Storage, range: PortRange, random: () => number) {
    this.#storage = storage;
    this.#range = range;
    this.#random = random;
  }

  #takenBeside({ metadata }: Service): Set<number> {
    const taken = new Set<number>();
    const cache = this.#storage.cache("services");
    for (const { object } of cache.range(cache.prefix)) {
      if (object.metadata.uid === metadata.uid) continue;
      for (const port of heldPorts((object as Service).spec)) taken.add(port);
    }
    for (const [port, uid] of this.#pending) if (uid !== metadata.uid) taken.add(port);
    return taken;
  }

  /**
   * Assigns the missing ports of a service, noted in `chosen`, and rejects requested ports that are not
   * available. Throws 422 or 500.
   */
  assign(
    service: Service,
    old: ServiceSpec | undefined,
    { dryRun, chosen }: Pick<StrategyContext, "dryRun" | "chosen">,
  ): void {
    const spec = service.spec;
    const taken = this.#takenBeside(service);
    const before = heldPorts(old);
    for (const port of before) taken.add(port);
    const draft = new (dryRun ? DryDraft : Draft)(service, taken, this.#range, this.#random);
    if (hasNodePorts(spec)) {
      if (old) changedPorts(spec, before, draft);
      else newPorts(spec, draft);
    }
    if (needsHealthCheck(spec) && !(old && needsHealthCheck(old))) {
      const asked = spec.healthCheckNodePort;
      if (asked) {
        const refusal = draft.take(asked);
        if (refusal)
          throw internalError(`failed to allocate requested HealthCheck NodePort ${asked}: ${refusal}`);
      } else spec.healthCheckNodePort = draft.next("HealthCheck NodePort 0");
    }
    for (const port of draft.chosen) chosen.ports.add(port);
  }

  /**
   * Reserves the ports of `assign` while the service is written: replaces chosen ports that have been
   * allocated since, and throws 422 for requested ones. Returns a function that ends the reservation.
   */
  claim(service: Service, old: ServiceSpec | undefined, chosen: ChosenValues): () => void {
    const spec = service.spec;
    const before = heldPorts(old);
    const taken = this.#takenBeside(service);
    const draft = new Draft(service, new Set([...taken, ...heldPorts(spec)]), this.#range, this.#random);
    const sound = (port: number, index: number): number => {
      if (!taken.has(port) || before.has(port)) return port;
      if (chosen.ports.has(port)) return draft.next("nodePort");
      throw refused(service, index, port, "provided port is already allocated");
    };
    // A write of the status has the stored spec, which is frozen and keeps its ports.
    for (const [index, port] of (spec.ports ?? []).entries()) {
      if (!port.nodePort) continue;
      const now = sound(port.nodePort, index);
      if (now !== port.nodePort) port.nodePort = now;
    }
    if (spec.healthCheckNodePort) {
      const health = sound(spec.healthCheckNodePort, 0);
      if (health !== spec.healthCheckNodePort) spec.healthCheckNodePort = health;
    }
    const claimed = [...heldPorts(spec)].filter((port) => !before.has(port));
    for (const port of claimed) this.#pending.set(port, service.metadata.uid);
    return () => {
      for (const port of claimed) this.#pending.delete(port);
    };
  }
}

/** Assigns the ports of a new service; the protocols of one port share a node port. */
function newPorts(spec: ServiceSpec, draft: Draft): void {
  const ports = spec.ports ?? [];
  const shared = new Map<number, number>();
  const asked = new Map<number, number>();
  for (const { port, nodePort } of ports) if (nodePort && !asked.has(port)) asked.set(port, nodePort);
  for (const [index, port] of ports.entries()) {
    if (!port.nodePort && !getsNodePorts(spec)) continue;
    const common = shared.get(port.port);
    if (common === undefined) {
      const wanted = asked.get(port.port);
      port.nodePort = wanted ? draft.need(wanted, index) : draft.next("nodePort");
      shared.set(port.port, port.nodePort);
    } else if (!port.nodePort) port.nodePort = common;
    else if (port.nodePort !== common) draft.need(port.nodePort, index);
  }
}

function changedPorts(spec: ServiceSpec, before: ReadonlySet<number>, draft: Draft): void {
  const taken = new Set(before);
  const seen = new Set<string>();
  for (const [index, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort) {
      if (!getsNodePorts(spec)) continue;
      port.nodePort = draft.next("nodePort");
    } else if (!taken.has(port.nodePort)) taken.add(draft.need(port.nodePort, index));
    const used = `{${port.protocol} ${port.nodePort}}`;
    if (seen.has(used)) throw serverError(`duplicate nodePort: ${used}`);
    seen.add(used);
  }
}

function refused(service: Service, index: number, port: number, detail: string): StatusError {
  return invalid({ group: "", kind: "Service" }, service.metadata.name, [
    { type: "Invalid", path: `spec.ports[${index}].nodePort`, value: String(port), detail },
  ]);
}
