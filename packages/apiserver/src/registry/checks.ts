import type { Features, FieldError, KubeObject } from "@dray/api";
import type { KindRow } from "@dray/api/schema";
import type { ValidationContext } from "@dray/api/validation";
import { validateCreate, validateStatusUpdate, validateUpdate } from "@dray/api/validation";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";

/** Compiles device selectors; loaded when the first one comes. */
type Compile = ValidationContext["compileSelector"];

/** The rules of @dray/api, with what they must be told: gates, the CEL compiler, the labels of the namespace. */
export class Checks {
  readonly #features: Features;
  readonly #storage: Storage;
  readonly #compile: Compile;

  constructor(features: Features, storage: Storage, compile: Compile) {
    this.#features = features;
    this.#storage = storage;
    this.#compile = compile;
  }

  create(kind: KindRow, object: KubeObject): FieldError[] {
    return validateCreate(kind, object, this.#context(object));
  }

  update(kind: KindRow, object: KubeObject, old: KubeObject, subresource: string): FieldError[] {
    const validate = subresource === "status" ? validateStatusUpdate : validateUpdate;
    return validate(kind, object, old, this.#context(object));
  }

  #context(object: KubeObject): ValidationContext {
    const namespace = object.metadata.namespace;
    const labels = namespace
      ? this.#storage.cache("namespaces").get(objectKey("namespaces", "", namespace))?.object.metadata.labels
      : undefined;
    return { features: this.#features, compileSelector: this.#compile, namespaceLabels: labels };
  }
}
