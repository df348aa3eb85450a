import { type KubeObject, StatusError } from "@dray/api";
import type { CustomResourceDefinitionStatus } from "@dray/api/apiextensions/v1";
import type { Clock, Log } from "@dray/client";
import type { ConversionParts } from "../customresources/conversion-webhook.ts";
import { resourcesOf, storageVersion, storedName } from "../customresources/resources.ts";
import {
  type Condition,
  nameStatus,
  nextCondition,
  withCondition,
} from "../kinds/apiextensions/custom-resource-definition/conditions.ts";
import {
  cleanupFinalizer,
  type Definition,
  isTrue,
} from "../kinds/apiextensions/custom-resource-definition/types.ts";
import type { ResourceSet } from "../kinds/resource-set.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { deepEqual, thaw } from "../storage/json.ts";
import type { Registry } from "../write/registry.ts";

const system = { name: "system:apiserver", groups: ["system:masters"] };

/** The served resources of a definition, and the state of the definition that they were built from. */
interface Serving {
  readonly resources: readonly ServedResource[];
  readonly source: readonly unknown[];
  readonly ended: AbortController;
}

/**
 * Milliseconds for which watches of an old definition continue, as upstream: clients treat a watch that ends
 * at once as an error.
 */
const watchGracePeriod = 1_000;

export interface CustomResourcesParts {
  readonly registry: Registry;
  readonly resources: ResourceSet;
  readonly webhooks: ConversionParts["webhooks"];
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Follows the definitions of custom resources: accepts their names, serves their resources, and deletes their
 * objects when they are deleted. Everything is reconciled after each change, so that a restart of the server
 * loses nothing.
 */
export class CustomResources {
  readonly #registry: Registry;
  readonly #resources: ResourceSet;
  readonly #conversion: ConversionParts;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Callbacks that end pending watches at once. */
  readonly #ending = new Set<() => void>();
  /** Undefined if definitions are not served. */
  readonly #definitionResource: ServedResource | undefined;
  readonly #serving = new Map<string, Serving>();
  /** Resources whose objects are being deleted; their changes are watched. */
  readonly #cleaning = new Map<string, () => void>();
  #dirty = new Set<string>();
  #working: Promise<void> = Promise.resolve();
  #scheduled = false;
  #ended = false;

  constructor({ registry, resources, webhooks, clock, log }: CustomResourcesParts) {
    this.#registry = registry;
    this.#conversion = { webhooks, newId: () => registry.newId(), release: registry.features.version };
    this.#resources = resources;
    this.#clock = clock;
    this.#log = log;
    this.#definitionResource = resources.byPath.get("apiextensions.k8s.io/v1/customresourcedefinitions");
  }

  get #served(): ServedResource {
    // `start` returns at once if definitions are not served.
    return this.#definitionResource!;
  }

  /** Serves the stored definitions and follows changes. */
  async start(): Promise<void> {
    if (this.#definitionResource === undefined) return;
    const cache = this.#registry.cache(this.#served);
    for (const definition of this.#definitions()) {
      this.#serve(definition);
      this.#dirty.add(definition.metadata.name);
    }
    cache.subscribe(({ type, object }) => {
      const definition = object as Definition;
      // Served resources change together with the definition: a client that reads that it is established
      // finds it served.
      if (type === "DELETED") this.#stop(definition.metadata.name);
      else this.#serve(definition);
      this.#touch(definition.metadata.name);
      // A name may have become free.
      for (const other of this.#definitions()) {
        if (other.spec.group === definition.spec.group && isWaiting(other)) this.#touch(other.metadata.name);
      }
    });
    this.#schedule();
    await this.#working;
  }

  async close(): Promise<void> {
    this.#ended = true;
    for (const end of [...this.#cleaning.values(), ...this.#ending]) end();
    await this.#working;
  }

  #definitions(): Definition[] {
    const cache = this.#registry.cache(this.#served);
    return [...cache.range(cache.prefix)].map(({ object }) => object as Definition);
  }

  #find(name: string): Definition | undefined {
    return this.#registry.find(this.#served, "", name)?.object as Definition | undefined;
  }

  #touch(name: string): void {
    this.#dirty.add(name);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#ended) return;
    this.#scheduled = true;
    this.#working = this.#working.then(() => this.#work());
  }

  async #work(): Promise<void> {
    this.#scheduled = false;
    const names = [...this.#dirty].sort();
    this.#dirty = new Set();
    for (const name of names) {
      // A large definition takes long: others have their turn before the next.
      await new Promise(setImmediate);
      if (this.#ended) return;
      try {
        await this.#reconcile(name);
      } catch (error) {
        const isGone = StatusError.is(error, "NotFound") || StatusError.is(error, "Conflict");
        if (!isGone)
          this.#log.error({ error, name }, "a definition of custom resources could not be followed");
      }
    }
  }

  /** Takes one step towards the desired state of the definition; each write triggers the next. */
  async #reconcile(name: string): Promise<void> {
    const definition = this.#find(name);
    if (definition === undefined) return;
    if (definition.metadata.deletionTimestamp !== undefined) {
      await this.#cleanUp(definition);
      return;
    }
    const group = this.#definitions().filter(({ spec }) => spec.group === definition.spec.group);
    const named = nameStatus(definition, group, this.#registry.now());
    if (named !== undefined) {
      await this.#write(definition, named);
      return;
    }
    const condition = nextCondition(definition, this.#registry.features.version);
    if (condition !== undefined) await this.#writeCondition(definition, condition);
  }

  #writeCondition(definition: Definition, condition: Condition, last = false): Promise<void> {
    const conditions = withCondition(definition.status?.conditions, condition, this.#registry.now());
    return this.#write(definition, { ...definition.status, conditions }, last);
  }

  /** Writes the status; `last` also removes the finalizer. */
  async #write(definition: Definition, status: CustomResourceDefinitionStatus, last = false): Promise<void> {
    const { name, resourceVersion } = definition.metadata;
    await this.#registry.update(
      {
        served: this.#served,
        subresource: "status",
        namespace: "",
        name,
        user: system,
        verb: "update",
        options: { dryRun: false, fieldManager: "kube-apiserver", fieldValidation: "Ignore", force: false },
      },
      {
        unchecked: true,
        expectedVersion: resourceVersion,
        change: (current) => {
          // The schemas are shared, not copied: they take up most of a definition.
          const { metadata, status: _, ...rest } = current as Definition;
          const draft: Definition = { ...rest, metadata: thaw(metadata), status: thaw(status) };
          draft.metadata.resourceVersion = resourceVersion;
          if (last) {
            const others = (draft.metadata.finalizers ?? []).filter((one) => one !== cleanupFinalizer);
            if (others.length > 0) draft.metadata.finalizers = others;
            else delete draft.metadata.finalizers;
          }
          return draft;
        },
      },
    );
  }

  #serve(definition: Definition): void {
    const { name } = definition.metadata;
    const served = isTrue(definition, "NamesAccepted") || isTrue(definition, "Established");
    if (!served) {
      this.#stop(name);
      return;
    }
    const source = [definition.spec, definition.status?.acceptedNames, isTrue(definition, "Terminating")];
    const old = this.#serving.get(name);
    if (old !== undefined && deepEqual(old.source, source)) return;
    const ended = new AbortController();
    const resources = resourcesOf(definition, ended.signal, this.#conversion);
    this.#resources.replace(old?.resources ?? [], resources);
    this.#serving.set(name, { resources, source, ended });
    // Watches began under the old definition: they must begin again.
    if (old !== undefined) this.#endLater(old);
  }

  #endLater({ ended }: Serving): void {
    const end = (): void => {
      cancel();
      this.#ending.delete(end);
      ended.abort();
    };
    const cancel = this.#clock.after(watchGracePeriod, end);
    this.#ending.add(end);
  }

  #stop(name: string): void {
    const old = this.#serving.get(name);
    if (old === undefined) return;
    this.#serving.delete(name);
    this.#resources.replace(old.resources, []);
    this.#endLater(old);
    this.#cleaning.get(name)?.();
    this.#cleaning.delete(name);
  }

  /** Deletes the objects, waits until they are gone, then removes the finalizer. */
  async #cleanUp(definition: Definition): Promise<void> {
    const { name, finalizers = [] } = definition.metadata;
    if (!finalizers.includes(cleanupFinalizer)) return;
    const terminating = (status: "True" | "False", reason: string, message: string): Condition => ({
      type: "Terminating",
      status,
      reason,
      message,
    });
    if (!isTrue(definition, "Established")) {
      const detail = terminating("False", "NeverEstablished", "resource was never established");
      await this.#writeCondition(definition, detail, true);
      return;
    }
    const progress = terminating(
      "True",
      "InstanceDeletionInProgress",
      "CustomResource deletion is in progress",
    );
    const known = definition.status?.conditions?.find(({ type }) => type === "Terminating");
    if (known?.reason !== progress.reason) {
      await this.#writeCondition(definition, progress);
      return;
    }
    const remaining = await this.#deleteObjects(definition);
    if (remaining > 0) {
      this.#watchObjects(definition);
      return;
    }
    const done = terminating("False", "InstanceDeletionCompleted", "removed all instances");
    await this.#writeCondition(this.#find(name) ?? definition, done, true);
  }

  async #deleteObjects(definition: Definition): Promise<number> {
    const resources = this.#serving.get(definition.metadata.name)?.resources ?? [];
    // No conversion is needed in the stored version.
    const storage = storageVersion(definition)?.name;
    const resource = resources.find(({ version }) => version === storage) ?? resources[0];
    const cache = this.#registry.storage.cache(storedName(definition));
    for (const { object } of [...cache.range(cache.prefix)]) {
      if (resource === undefined || object.metadata.deletionTimestamp !== undefined) continue;
      await this.#delete(resource, object);
    }
    return cache.size;
  }

  async #delete(served: ServedResource, { metadata }: KubeObject): Promise<void> {
    try {
      await this.#registry.delete(
        {
          served,
          subresource: "",
          namespace: metadata.namespace ?? "",
          name: metadata.name,
          user: system,
          verb: "delete",
          // Upstream's finalizer skips admission: a policy cannot keep the objects.
          admitted: true,
          options: { dryRun: false, fieldManager: "kube-apiserver", fieldValidation: "Ignore", force: false },
        },
        { dryRun: false },
      );
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }

  /** Reconciles again when an object is gone: some have finalizers of their own. */
  #watchObjects(definition: Definition): void {
    const { name } = definition.metadata;
    if (this.#cleaning.has(name)) return;
    const cache = this.#registry.storage.cache(storedName(definition));
    this.#cleaning.set(
      name,
      cache.subscribe(({ type }) => {
        if (type === "DELETED" || cache.size === 0) this.#touch(name);
      }),
    );
  }
}

/** Reports whether a definition does not have all requested names. */
function isWaiting(definition: Definition): boolean {
  return !isTrue(definition, "NamesAccepted");
}
