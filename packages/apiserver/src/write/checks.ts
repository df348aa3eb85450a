import type { Features, FieldError, KubeObject, Provenance } from "@dray/api";
import type { ValidationContext } from "@dray/api/validation";
import { Expressions } from "../admission/policy/expressions.ts";
import type { ModelledKind, UpdateFindings } from "../kinds/model.ts";
import { modelOf } from "../kinds/models.ts";
import { atOnce, type Step } from "../request/pieces.ts";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";

/** Compiles device selectors; loaded with the first one. */
type Compile = ValidationContext["compileSelector"];

/** Returns warnings for a new object that do not depend on its contents. */
type CreationWarnings = (group: string, resource: string, object: KubeObject) => readonly string[];

/**
 * The request of a create: `requestGroup` is its API group. Each compiled expression is a step, and what else
 * takes long.
 */
interface CheckedCreate {
  readonly requestGroup: string;
  readonly provenance: Provenance;
  readonly step?: Step;
}

interface CheckedUpdate extends CheckedCreate {
  readonly subresource: string;
}

/** Properties of the cluster that checks depend on, beside its features. */
interface ClusterChecks {
  readonly creationWarnings?: CreationWarnings | undefined;
  readonly loopbackEndpoints?: boolean;
}

/**
 * The validation of @dray/api with its context: feature gates, the CEL compiler, the labels of the namespace.
 */
export class Checks {
  readonly #features: Features;
  readonly #storage: Storage;
  readonly #compile: Compile;
  readonly #cluster: ClusterChecks;

  constructor(features: Features, storage: Storage, compile: Compile, cluster: ClusterChecks = {}) {
    this.#features = features;
    this.#storage = storage;
    this.#compile = compile;
    this.#cluster = cluster;
  }

  create(kind: ModelledKind, object: KubeObject, request: CheckedCreate): readonly FieldError[] {
    return modelOf(kind).validateCreate(object, this.#context(object, request));
  }

  update(kind: ModelledKind, object: KubeObject, old: KubeObject, request: CheckedUpdate): UpdateFindings {
    return modelOf(kind).validateUpdate(object, old, request.subresource, this.#context(object, request));
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
    return this.#cluster.creationWarnings?.(group, resource, object) ?? [];
  }

  #context(
    object: KubeObject,
    { requestGroup, provenance, step = atOnce }: CheckedCreate,
  ): ValidationContext {
    const namespace = object.metadata.namespace;
    const labels = namespace
      ? this.#storage.cache("namespaces").get(objectKey("namespaces", "", namespace))?.object.metadata.labels
      : undefined;
    return {
      features: this.#features,
      provenance,
      requestGroup,
      step,
      compileSelector: (expression, derived) => step(() => this.#compile(expression, derived)),
      admissionExpressions: (options) => {
        const expressions = step(() => new Expressions(options));
        return {
          compile: (text, expected) => step(() => expressions.compile(text, expected)),
          variable: (name, text, expected) => step(() => expressions.variable(name, text, expected)),
        };
      },
      namespaceLabels: labels,
      loopbackEndpoints: this.#cluster.loopbackEndpoints,
    };
  }
}
