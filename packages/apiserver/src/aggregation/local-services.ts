import { StatusError } from "@dray/api";
import type { APIService, APIServiceSpec } from "@dray/api/apiregistration/v1";
import { type Clock, createWorkQueue, type Log, type WorkQueue, type WorkQueueMetrics } from "@dray/client";
import type { Definition } from "../kinds/apiextensions/custom-resource-definition/types.ts";
import { localCondition } from "../kinds/apiregistration/api-service/strategy.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { ResourceCache } from "../storage/cache.ts";
import { deepEqual } from "../storage/json.ts";
import type { Storage } from "../storage/storage.ts";
import type { OwnObjects } from "../write/own-objects.ts";
import { reportAvailability } from "./condition.ts";
import { builtInPriority, customPriority, type Priority } from "./priorities.ts";

const managedLabel = "kube-aggregator.kubernetes.io/automanaged";

/** When an APIService is restored to its desired state: at the start of the server, or always. */
type Managed = "onstart" | "true";

/** The desired state of an APIService. */
interface DesiredService {
  readonly managed: Managed;
  readonly spec: APIServiceSpec;
}

const local = { status: "True", reason: "Local", message: "Local APIServices are always available" } as const;

/** Dependencies of LocalServices. */
interface LocalServicesParts {
  readonly own: OwnObjects;
  readonly storage: Storage;
  readonly resources: readonly ServedResource[];
  readonly clock: Clock;
  readonly log: Log;
  readonly workQueues?: WorkQueueMetrics | undefined;
}

/**
 * Keeps an APIService for each version that this server serves itself: those of built-in kinds are restored
 * at the start, those of custom resources always. Objects without the label are left alone.
 *
 * Upstream: staging/src/k8s.io/kube-aggregator/pkg/controllers/autoregister,
 * pkg/controlplane/controller/crdregistration,
 * staging/src/k8s.io/kube-aggregator/pkg/controllers/status/local
 */
export class LocalServices {
  readonly #own: OwnObjects;
  readonly #served: ServedResource;
  readonly #cache: ResourceCache;
  readonly #definitions: ResourceCache;
  readonly #queue: WorkQueue;
  /** Desired APIServices of built-in versions, by name. */
  readonly #builtIn: ReadonlyMap<string, DesiredService>;
  /** Desired APIServices of versions that definitions serve, by name. */
  #custom: ReadonlyMap<string, DesiredService> = new Map();
  readonly #presentAtStart = new Set<string>();
  readonly #synced = new Set<string>();
  #scheduled = false;

  constructor({ own, storage, resources, clock, log, workQueues }: LocalServicesParts) {
    this.#own = own;
    this.#served = own.served("apiregistration.k8s.io", "apiservices");
    this.#cache = storage.cache(this.#served.stored.resource);
    this.#definitions = storage.cache("customresourcedefinitions");
    this.#builtIn = builtInServices(resources);
    const reconcile = (name: string): Promise<void> => this.#reconcile(name);
    const common = { clock, log, concurrency: 5, ...(workQueues && { metrics: workQueues }) };
    this.#queue = createWorkQueue({ ...common, name: "apiservices", reconcile });
  }

  /** Creates what is missing, with one durable commit, and follows changes from then on. */
  async start(): Promise<void> {
    for (const { object } of this.#cache.range(this.#cache.prefix))
      this.#presentAtStart.add(object.metadata.name);
    this.#custom = this.#ofDefinitions();
    const desired = [...this.#builtIn, ...this.#custom];
    await Promise.all(
      desired
        .filter(([name]) => !this.#presentAtStart.has(name))
        .map(async ([name, each]) => {
          await this.#own.put(this.#served, this.#draft(name, each));
          this.#synced.add(name);
        }),
    );
    this.#cache.subscribe(({ object }) => this.#queue.add(object.metadata.name));
    this.#definitions.subscribe(() => this.#followDefinitions());
    for (const name of this.#presentAtStart) this.#queue.add(name);
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  #ofDefinitions(): Map<string, DesiredService> {
    const found = new Map<string, DesiredService>();
    for (const { object } of this.#definitions.range(this.#definitions.prefix)) {
      const { group, versions } = (object as Definition).spec;
      for (const { name, served } of versions ?? [])
        if (served && builtInPriority(group, name) === undefined)
          found.set(`${name}.${group}`, { managed: "true", spec: specOf(group, name, customPriority) });
    }
    return found;
  }

  /** Evaluates the definitions once for all changes of a turn of the event loop. */
  #followDefinitions(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const before = this.#custom;
      this.#custom = this.#ofDefinitions();
      for (const name of this.#custom.keys()) if (!before.has(name)) this.#queue.add(name);
      for (const name of before.keys()) if (!this.#custom.has(name)) this.#queue.add(name);
    }).unref();
  }

  async #reconcile(name: string): Promise<void> {
    try {
      await this.#sync(name);
      this.#synced.add(name);
      const service = this.#find(name);
      if (service && !service.spec?.service)
        await reportAvailability(this.#own, this.#served, service, local);
    } catch (error) {
      if (!isConcurrentChange(error)) throw error;
    }
  }

  /** Upstream: autoregister_controller.go, checkAPIService */
  async #sync(name: string): Promise<void> {
    const desired = this.#builtIn.get(name) ?? this.#custom.get(name);
    const current = this.#find(name);
    const synced = this.#synced.has(name);
    if (desired?.managed === "onstart" && synced) return;
    if (current === undefined) {
      if (desired) await this.#own.create(this.#served, this.#draft(name, desired));
      return;
    }
    const managed = current.metadata.labels?.[managedLabel];
    if (managed !== "onstart" && managed !== "true") return;
    if (managed === "onstart" && (synced || !this.#presentAtStart.has(name))) return;
    if (desired === undefined) await this.#own.remove(this.#served, name, current.metadata.uid);
    else if (!deepEqual(current.spec, desired.spec))
      await this.#own.change(this.#served, current, (draft) => {
        (draft as APIService).spec = { ...desired.spec };
      });
  }

  #find(name: string): APIService | undefined {
    return this.#own.find(this.#served, "", name) as APIService | undefined;
  }

  #draft(name: string, { managed, spec }: DesiredService): object {
    return {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name, labels: { [managedLabel]: managed } },
      spec,
      status: { conditions: [localCondition(this.#own.now())] },
    };
  }
}

/** Reports whether another writer was faster; its write triggers an event of its own. */
function isConcurrentChange(error: unknown): boolean {
  return (
    StatusError.is(error, "AlreadyExists") ||
    StatusError.is(error, "Conflict") ||
    StatusError.is(error, "NotFound")
  );
}

/**
 * Returns the desired APIServices of built-in versions. Upstream has none for its own group, and
 * metrics.k8s.io is left to metrics-server.
 */
function builtInServices(resources: readonly ServedResource[]): ReadonlyMap<string, DesiredService> {
  const found = new Map<string, DesiredService>();
  for (const { group, version, model } of resources) {
    const priority = builtInPriority(group, version);
    if (priority === undefined || model !== undefined || group === "apiregistration.k8s.io") continue;
    found.set(`${version}.${group}`, { managed: "onstart", spec: specOf(group, version, priority) });
  }
  return found;
}

function specOf(group: string, version: string, priority: Priority): APIServiceSpec {
  return {
    ...(group === "" ? {} : { group }),
    version,
    groupPriorityMinimum: priority.group,
    versionPriority: priority.version,
  };
}
