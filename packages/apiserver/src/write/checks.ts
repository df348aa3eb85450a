import type { Features, FieldError, KubeObject } from "@dray/api";
import type { ValidationContext } from "@dray/api/validation";
import { Expressions } from "../admission/policy/expressions.ts";
import type { ModelledKind } from "../kinds/model.ts";
import { modelOf } from "../kinds/models.ts";
import { atOnce, type Step } from "../request/pieces.ts";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";

/** Compiles device selectors; loaded with the first one. */
type Compile = ValidationContext["compileSelector"];

/** Returns warnings for a new object that do not depend on its contents. */
type CreationWarnings = (group: string, resource: string, object: KubeObject) => readonly string[];

/** The request of an update: `requestGroup` is its API group. Each compiled expression is a step. */
interface CheckedUpdate {
  readonly subresource: string;
  readonly requestGroup: string;
  readonly step?: Step;
}

/**
 * The validation of @dray/api with its context: feature gates, the CEL compiler, the labels of the namespace.
 */
export class Checks {
  readonly #features: Features;
  readonly #storage: Storage;
  readonly #compile: Compile;
  readonly #creationWarnings: CreationWarnings;

  constructor(
    features: Features,
    storage: Storage,
    compile: Compile,
    creationWarnings: CreationWarnings = () => [],
  ) {
    this.#features = features;
    this.#storage = storage;
    this.#compile = compile;
    this.#creationWarnings = creationWarnings;
  }

  /** `requestGroup` is the API group of the request. Each compiled expression is a step. */
  create(
    kind: ModelledKind,
    object: KubeObject,
    requestGroup: string,
    step: Step = atOnce,
  ): readonly FieldError[] {
    return modelOf(kind).validateCreate(object, this.#context(object, requestGroup, step));
  }

  update(
    kind: ModelledKind,
    object: KubeObject,
    old: KubeObject,
    request: CheckedUpdate,
  ): readonly FieldError[] {
    const { subresource, requestGroup, step = atOnce } = request;
    return modelOf(kind).validateUpdate(object, old, subresource, this.#context(object, requestGroup, step));
  }

  /** Returns the warnings for a valid object; without `old` it is a new one. */
  warnings(
    kind: ModelledKind,
    object: KubeObject,
    old: KubeObject | undefined,
    subresource: string,
  ): readonly string[] {
    return modelOf(kind).warnings(object, old, subresource);
  }

  /** Returns warnings for a new object about missing components of the cluster. */
  creationWarnings(
    { group, resource }: { readonly group: string; readonly resource: string },
    object: KubeObject,
  ): readonly string[] {
    return this.#creationWarnings(group, resource, object);
  }

  #context(object: KubeObject, requestGroup: string, step: Step): ValidationContext {
    const namespace = object.metadata.namespace;
    const labels = namespace
      ? this.#storage.cache("namespaces").get(objectKey("namespaces", "", namespace))?.object.metadata.labels
      : undefined;
    return {
      features: this.#features,
      requestGroup,
      compileSelector: (expression, derived) => step(() => this.#compile(expression, derived)),
      admissionExpressions: (options) => {
        const expressions = step(() => new Expressions(options));
        return {
          compile: (text, expected) => step(() => expressions.compile(text, expected)),
          variable: (name, text, expected) => step(() => expressions.variable(name, text, expected)),
        };
      },
      namespaceLabels: labels,
    };
  }
}
