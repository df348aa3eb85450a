import { type KubeObject, StatusError } from "@dray/api";
import { requiredResource, type ServedResource } from "../kinds/resources.ts";
import { thaw } from "../storage/json.ts";
import type { Registry, Write } from "./registry.ts";

const user = { name: "system:apiserver", groups: ["system:masters"] };

/** Writes by the server itself. */
export class OwnObjects {
  readonly #registry: Registry;
  readonly #resources: readonly ServedResource[];
  readonly #fieldManager: string;

  /** `resources`: all of the release, whether served or not. `fieldManager` owns the written fields. */
  constructor(registry: Registry, resources: readonly ServedResource[], fieldManager = "kube-apiserver") {
    this.#registry = registry;
    this.#resources = resources;
    this.#fieldManager = fieldManager;
  }

  served(group: string, resource: string): ServedResource {
    return requiredResource(this.#resources, { group, resource });
  }

  find(served: ServedResource, namespace: string, name: string): KubeObject | undefined {
    return this.#registry.find(served, namespace, name)?.object;
  }

  list(served: ServedResource): KubeObject[] {
    return this.#registry.list(served);
  }

  #write(served: ServedResource, namespace: string, name: string, verb: string): Write {
    const options = {
      dryRun: false,
      fieldManager: this.#fieldManager,
      fieldValidation: "Ignore",
      force: false,
    } as const;
    return { served, subresource: "", namespace, name, user, verb, options };
  }

  /** Rejects with AlreadyExists if it exists. */
  async create(served: ServedResource, draft: object): Promise<void> {
    const object = structuredClone(draft) as KubeObject;
    await this.#registry.create(this.#write(served, object.metadata.namespace ?? "", "", "create"), object);
  }

  /** Does nothing if it exists. */
  async ensure(served: ServedResource, draft: object): Promise<void> {
    const { name, namespace = "" } = (draft as KubeObject).metadata;
    if (this.find(served, namespace, name)) return;
    try {
      await this.create(served, draft);
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists")) throw error;
    }
  }

  async change(
    served: ServedResource,
    present: KubeObject,
    change: (draft: KubeObject) => void,
    { fieldManager, subresource }: { fieldManager: string; subresource: string } = {
      fieldManager: this.#fieldManager,
      subresource: "",
    },
  ): Promise<void> {
    const { name, namespace = "" } = present.metadata;
    const write = this.#write(served, namespace, name, "update");
    await this.#registry.update(
      { ...write, subresource, options: { ...write.options, fieldManager } },
      {
        unchecked: true,
        change: (current) => {
          const draft = thaw(current);
          change(draft);
          return draft;
        },
      },
    );
  }

  /**
   * Stores only the status of an object. Returns false if the object has been changed since, or is deleted.
   */
  async storeStatus(served: ServedResource, object: KubeObject): Promise<boolean> {
    const { name, namespace = "", resourceVersion = "" } = object.metadata;
    const write = { ...this.#write(served, namespace, name, "update"), subresource: "status" };
    const rules = { unchecked: true, expectedVersion: resourceVersion, change: () => thaw(object) };
    try {
      await this.#registry.update(write, rules);
      return true;
    } catch (error) {
      if (StatusError.is(error, "Conflict") || StatusError.is(error, "NotFound")) return false;
      throw error;
    }
  }

  /** Does nothing if it is missing. With `uid`, rejects with Conflict if another object has the name. */
  async remove(served: ServedResource, name: string, uid?: string): Promise<void> {
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    try {
      await this.#registry.delete(this.#write(served, "", name, "delete"), {
        dryRun: false,
        ...preconditions,
      });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }

  /**
   * Creates an object that is valid by construction: without admission and validation. Returns false if it
   * exists.
   */
  async put(served: ServedResource, draft: object): Promise<boolean> {
    const registry = this.#registry;
    const object = structuredClone(draft) as KubeObject;
    const { metadata } = object;
    metadata.uid = registry.newId();
    metadata.creationTimestamp = this.now();
    registry.managers.created(served, object, {
      manager: this.#fieldManager,
      subresource: "",
      now: this.now(),
      provenance: registry.newProvenance(),
    });
    const key = registry.key(served, metadata.namespace ?? "", metadata.name);
    return (await registry.storage.put(key, object, 0)) !== undefined;
  }

  now(): string {
    return this.#registry.now();
  }
}
