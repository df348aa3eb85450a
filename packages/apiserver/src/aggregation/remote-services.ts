import { StatusError } from "@dray/api";
import type { APIService } from "@dray/api/apiregistration/v1";
import { type Clock, createWorkQueue, type Log, type WorkQueue, type WorkQueueMetrics } from "@dray/client";
import type { ServedResource } from "../kinds/resources.ts";
import { serviceLabel } from "../proxy/service-address.ts";
import type { Subscriber } from "../storage/cache.ts";
import { deepEqual } from "../storage/json.ts";
import type { Storage } from "../storage/storage.ts";
import type { OwnObjects } from "../write/own-objects.ts";
import { type BackEnds, isRemoteService, type RemoteService } from "./back-end.ts";
import { availableCondition, isAvailable, reportAvailability } from "./condition.ts";
import type { RemoteDiscovery } from "./remote-discovery.ts";
import type { RemoteOpenAPI } from "./remote-openapi.ts";

/** Milliseconds between two checks of a back end, and between two reads of its documents, as upstream. */
const checkInterval = 30_000;
const documentsInterval = 60_000;
/** Milliseconds before the first retry; doubled up to the intervals. */
const firstCheckDelay = 5;
const firstDocumentsDelay = 500;

/** A version of another server, with its state. */
export interface Remote {
  readonly service: RemoteService;
  /** Absent until the first read. */
  readonly discovery?: RemoteDiscovery;
  readonly openAPI?: RemoteOpenAPI;
}

export interface RemoteServicesParts {
  readonly own: OwnObjects;
  readonly storage: Storage;
  readonly backEnds: BackEnds;
  readonly clock: Clock;
  readonly log: Log;
  readonly workQueues?: WorkQueueMetrics | undefined;
}

/**
 * Follows the APIServices with a Service: checks whether their back ends can be reached, and reads their
 * documents. This happens in the background, so that no request waits for it.
 */
export class RemoteServices {
  readonly #parts: RemoteServicesParts;
  readonly #served: ServedResource;
  readonly #stop = new AbortController();
  readonly #byName = new Map<string, Remote>();
  readonly #byVersion = new Map<string, string>();
  readonly #checks: WorkQueue;
  readonly #documents: WorkQueue;
  readonly #unsubscribe: (() => void)[] = [];
  #revision = 0;

  constructor(parts: RemoteServicesParts) {
    this.#parts = parts;
    this.#served = parts.own.served("apiregistration.k8s.io", "apiservices");
    const { clock, log, workQueues } = parts;
    const common = { clock, log, concurrency: 5, ...(workQueues && { metrics: workQueues }) };
    this.#checks = createWorkQueue({
      ...common,
      name: "apiservice-availability",
      reconcile: (name) => this.#check(name),
      baseDelay: firstCheckDelay,
      maxDelay: checkInterval,
    });
    this.#documents = createWorkQueue({
      ...common,
      name: "apiservice-documents",
      reconcile: (name) => this.#read(name),
      baseDelay: firstDocumentsDelay,
      maxDelay: documentsInterval,
    });
  }

  /** Changes with every change of the documents. */
  get revision(): number {
    return this.#revision;
  }

  get list(): Iterable<Remote> {
    return this.#byName.values();
  }

  get size(): number {
    return this.#byName.size;
  }

  /** Returns the APIService of a version of another server; undefined for others. */
  find(group: string, version: string): RemoteService | undefined {
    if (this.#byName.size === 0) return undefined;
    const name = this.#byVersion.get(`${group}/${version}`);
    return name === undefined ? undefined : this.#byName.get(name)?.service;
  }

  /** Follows the APIServices, Services and Endpoints. */
  start(): void {
    const { storage } = this.#parts;
    const cache = storage.cache(this.#served.stored.resource);
    for (const { object } of cache.range(cache.prefix)) this.#take(object as APIService);
    const follow = (resource: string, subscriber: Subscriber): void => {
      this.#unsubscribe.push(storage.cache(resource).subscribe(subscriber));
    };
    follow(this.#served.stored.resource, ({ type, object }) => {
      if (type === "DELETED") this.#forget(object.metadata.name);
      else this.#take(object as APIService);
    });
    follow("services", ({ object }) => this.#touch(object.metadata.namespace, object.metadata.name));
    follow("endpointslices", ({ object }) =>
      this.#touch(object.metadata.namespace, object.metadata.labels?.[serviceLabel]),
    );
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await Promise.all([this.#checks.close(), this.#documents.close()]);
  }

  #take(service: APIService): void {
    const { name } = service.metadata;
    if (!isRemoteService(service)) {
      this.#forget(name);
      return;
    }
    const known = this.#byName.get(name);
    const isSame = known !== undefined && deepEqual(known.service.spec, service.spec);
    this.#byName.set(name, isSame ? { ...known, service } : { service });
    this.#byVersion.set(versionOf(service), name);
    if (!isSame) this.#revision++;
    if (!isSame || availableCondition(service) === undefined) this.#checks.add(name);
    const before = isSame ? availableCondition(known.service)?.status : undefined;
    if (availableCondition(service)?.status !== before) this.#documents.add(name);
  }

  #forget(name: string): void {
    const known = this.#byName.get(name);
    if (known === undefined) return;
    this.#byName.delete(name);
    this.#byVersion.delete(versionOf(known.service));
    this.#revision++;
  }

  /** Checks the back ends of a Service again. */
  #touch(namespace: string | undefined, service: string | undefined): void {
    for (const [name, { service: one }] of this.#byName) {
      const { namespace: home, name: target } = one.spec.service;
      if (home === namespace && target === service) this.#checks.add(name);
    }
  }

  async #check(name: string): Promise<void> {
    const remote = this.#byName.get(name);
    if (remote === undefined) return;
    const { own, storage, backEnds, clock } = this.#parts;
    const { checkAvailability } = await import("./availability.ts");
    const found = await checkAvailability(remote.service, storage, {
      backEnds,
      clock,
      signal: this.#stop.signal,
    });
    const current = this.#byName.get(name);
    if (current === undefined || this.#stop.signal.aborted) return;
    if (!deepEqual(current.service.spec, remote.service.spec)) return;
    try {
      await reportAvailability(own, this.#served, current.service, found);
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
    if (found.status === "True") this.#checks.addAfter(name, checkInterval);
    else this.#checks.addRateLimited(name);
  }

  /** Documents of an unavailable back end are not read: its Service may point anywhere. */
  async #read(name: string): Promise<void> {
    const remote = this.#byName.get(name);
    if (remote === undefined) return;
    const { version = "" } = remote.service.spec;
    const stale: RemoteDiscovery = { entry: { version, freshness: "Stale" } };
    if (!isAvailable(remote.service)) {
      this.#keep(name, remote, { discovery: stale });
      return;
    }
    const { backEnds, clock, log } = this.#parts;
    const fetchOptions = { backEnds, clock, signal: this.#stop.signal };
    const [{ readDiscovery }, { readOpenAPI }] = await Promise.all([
      import("./remote-discovery.ts"),
      import("./remote-openapi.ts"),
    ]);
    const attempt = <T>(promise: Promise<T>): Promise<T | undefined> =>
      promise.catch((error: unknown) => {
        log.debug({ name, error }, "a document of an aggregated API server could not be read");
        return undefined;
      });
    const discovery = await attempt(readDiscovery(remote.service, remote.discovery, fetchOptions));
    this.#keep(name, remote, { discovery: discovery ?? stale });
    const openAPI = discovery && (await attempt(readOpenAPI(remote.service, remote.openAPI, fetchOptions)));
    if (openAPI !== undefined) this.#keep(name, remote, { openAPI });
    if (discovery !== undefined && openAPI !== undefined) this.#documents.addAfter(name, documentsInterval);
    else this.#documents.addRateLimited(name);
  }

  /** Stores the documents, unless the APIService has been replaced meanwhile. */
  #keep(name: string, read: Remote, changes: Partial<Remote>): void {
    const current = this.#byName.get(name);
    if (current === undefined || !deepEqual(current.service.spec, read.service.spec)) return;
    this.#byName.set(name, { ...current, ...changes });
    if (!deepEqual(current.discovery?.entry, (changes.discovery ?? current.discovery)?.entry))
      this.#revision++;
    if (changes.openAPI !== undefined && changes.openAPI !== current.openAPI) this.#revision++;
  }
}

const versionOf = ({ spec }: RemoteService): string => `${spec.group ?? ""}/${spec.version ?? ""}`;
