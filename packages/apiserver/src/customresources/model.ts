import {
  apiVersionOf,
  type FieldError,
  invalid,
  type KubeObject,
  type KubernetesVersion,
  Provenance,
  StatusError,
  type Wire,
} from "@dray/api";
import type { JSONSchemaProps } from "@dray/api/apiextensions/v1";
import { type DecodedBody, decodeBody, type RawBody, unrecognized } from "@dray/api/codec";
import type { CustomSchema } from "@dray/api/openapi";
import { FieldErrors, type ValidationContext } from "@dray/api/validation";
import { encodeJSON } from "../encoding/codec.ts";
import { forbidden, serverError } from "../errors/status.ts";
import { duplicateFields } from "../json/nesting.ts";
import { fieldsIn } from "../json/values.ts";
import type { ModelledKind, OutsideConversion, ResourceModel, UpdateFindings } from "../kinds/model.ts";
import type { ScalePaths } from "../kinds/resources.ts";
import type { Strategy } from "../kinds/strategy.ts";
import type { ObjectType } from "../patch/index.ts";
import { deepFreeze, thaw } from "../storage/json.ts";
import { dropNulls, setDefaults } from "../structural-schemas/defaulting.ts";
import { coerceEmbedded, coerceMetadata, MetadataError } from "../structural-schemas/embedded.ts";
import { prune } from "../structural-schemas/pruning.ts";
import { isPlain, type Plain } from "../structural-schemas/schema.ts";
import type { Printer } from "../tables/column.ts";
import { objectTypeOf } from "./apply-schema.ts";
import { batchesOf } from "./conversion-batches.ts";
import type { ConversionWebhook } from "./conversion-webhook.ts";
import { finalizerWarnings } from "./finalizer-names.ts";
import { CustomValidation } from "./validation.ts";

/** One version of a custom resource, as its definition describes it. */
export interface CustomVersion {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  /** Its definition is being deleted. */
  readonly terminating: boolean;
  readonly schema: JSONSchemaProps | undefined;
  /** Unknown fields are kept: definitions from before structural schemas. */
  readonly preserves: boolean;
  readonly hasStatus: boolean;
  readonly scale: ScalePaths | undefined;
  readonly printer: Printer<KubeObject>;
  readonly openAPI: CustomSchema;
  /** Converts between the versions; without it only the apiVersion changes. */
  readonly webhook: ConversionWebhook | undefined;
  /** The apiVersion of stored objects. */
  readonly storedAs: string;
  /** The release whose error texts are used where releases differ. */
  readonly release: KubernetesVersion;
}

interface Coercion {
  /** The object comes from the store: malformed metadata is dropped. */
  readonly stored: boolean;
  readonly keepsNulls?: boolean;
}

/** The custom resources of one version: pruned, defaulted and validated by the schema of that version. */
export class CustomModel implements ResourceModel {
  readonly #version: CustomVersion;
  /**
   * The schemas of all versions: a stored object is decoded by the schema of the version in which it was
   * written.
   */
  readonly #schemas: ReadonlyMap<string, JSONSchemaProps | undefined>;
  /** Memo of converted stored objects, by target apiVersion. */
  readonly #read = new Map<string, WeakMap<KubeObject, KubeObject>>();
  /**
   * Pending calls of the webhook, by target apiVersion and object: watchers need the same conversion at the
   * same time.
   */
  readonly #pending = new Map<string, Map<KubeObject, Promise<void>>>();
  readonly #validation: CustomValidation;
  /** Made for the first write: that of a large schema takes long. */
  #objectType: ObjectType | undefined;

  readonly conversion: OutsideConversion | undefined;

  constructor(version: CustomVersion, schemas: ReadonlyMap<string, JSONSchemaProps | undefined>) {
    this.#version = version;
    this.#schemas = schemas;
    this.#validation = new CustomValidation(version);
    const { webhook } = version;
    if (webhook === undefined) return;
    this.conversion = {
      prepare: (objects, to) => this.#prepare(webhook, objects, to),
      toStored: (object) => this.#toStored(webhook, object),
    };
  }

  get storedAs(): string {
    return this.#version.storedAs;
  }

  get objectType(): ObjectType {
    this.#objectType ??= objectTypeOf(this.#version);
    return this.#objectType;
  }

  get printer(): Printer<KubeObject> {
    return this.#version.printer;
  }

  get openAPI(): CustomSchema {
    return this.#version.openAPI;
  }

  get #schema(): JSONSchemaProps | undefined {
    return this.#version.schema;
  }

  decode(raw: RawBody, _release?: string, keepsNulls = false): DecodedBody {
    const { tree, duplicates, notes, bytes } = raw;
    const { kind, version } = this.#version;
    const apiVersion = apiVersionOf(this.#version);
    const lacking = (): StatusError => {
      const shown = bytes === undefined ? "" : new TextDecoder().decode(bytes);
      return unrecognized(kind, `Object 'Kind' is missing in '${shown}'`, bytes ?? new Uint8Array());
    };
    if (tree === null) throw lacking();
    // A value that is not an object has the same error for all kinds.
    if (!isPlain(tree)) return decodeBody(raw, { ...this.#version, type: "" });
    const sent = tree["kind"];
    if (typeof sent !== "string" || sent === "") throw lacking();
    if (tree["apiVersion"] !== apiVersion) {
      const found = typeof tree["apiVersion"] === "string" ? tree["apiVersion"] : "";
      throw StatusError.of(
        "BadRequest",
        `the API version in the data (${found}) does not match the expected API version (${apiVersion})`,
      );
    }
    if (sent !== kind) throw this.otherKind(tree);
    // Repeated keys are known only from the parsed tree.
    const repeated = duplicateFields(tree, notes);
    // The tree of a JSON text is used nowhere else, and no part of it twice.
    const object = bytes !== undefined && notes !== undefined ? tree : thaw(tree);
    let unknown: string[];
    try {
      unknown = this.#coerce(object, { stored: false, keepsNulls });
    } catch (error) {
      if (!(error instanceof MetadataError)) throw error;
      const where =
        error.path === "metadata" ? "" : `${error.path}: Invalid value: ${encodeJSON(error.value)}: `;
      throw StatusError.of(
        "BadRequest",
        `${kind} in version "${version}" cannot be handled as a ${kind}: ${where}${error.message}`,
      );
    }
    const fields = [...repeated, ...unknown.map((path) => `unknown field "${path}"`)];
    const yaml = duplicates.length > 0 ? [`yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`] : [];
    // A custom resource keeps what is empty.
    const provenance = new Provenance();
    return { object, provenance, problems: [...yaml, ...fields], warnings: [...duplicates, ...fields] };
  }

  /** Returns the error for an object of another kind or version. */
  otherKind(tree: Plain): StatusError {
    const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
    const [kind, apiVersion] = [textOf(tree["kind"]), textOf(tree["apiVersion"])];
    const own = apiVersionOf(this.#version);
    const errors = new FieldErrors(this.#version);
    if (kind !== this.#version.kind) errors.at("kind").invalid(kind, `must be ${this.#version.kind}`);
    if (apiVersion !== own) errors.at("apiVersion").invalid(apiVersion, `must be ${own}`);
    const group = apiVersion.split("/").slice(0, -1).join("/");
    const name = isPlain(tree["metadata"]) ? textOf(tree["metadata"]["name"]) : "";
    return invalid({ group, kind }, name, errors.list);
  }

  /** Removes unknown fields, in place; returns their paths. Throws MetadataError. */
  #coerce(object: Plain, { stored, keepsNulls = false }: Coercion, schema = this.#schema): string[] {
    const options = { dropMalformed: stored };
    const ofMetadata = coerceMetadata(object, "", options);
    object["metadata"] ??= {};
    const pruned = this.#version.preserves ? [] : prune(object, schema, true);
    if (!this.#version.preserves && !keepsNulls) dropNulls(object, schema);
    return [...ofMetadata, ...pruned, ...coerceEmbedded(object, schema, "", options)];
  }

  setDefaults(object: Wire<KubeObject>): void {
    setDefaults(object, this.#schema);
  }

  /** Stored objects are decoded by the schema of their stored version, with its defaults. */
  convert(object: KubeObject, to: ModelledKind): KubeObject {
    const known = this.#knownIn(apiVersionOf(to));
    let read = known.get(object);
    if (read === undefined) {
      if (!Object.isFrozen(object)) return this.#inVersion(object, to);
      read = deepFreeze(this.#inVersion(this.#revived(object), to));
      known.set(object, read);
      // A converted object is not converted again.
      known.set(read, read);
    }
    return read;
  }

  #knownIn(apiVersion: string): WeakMap<KubeObject, KubeObject> {
    let known = this.#read.get(apiVersion);
    if (known === undefined) {
      known = new WeakMap();
      this.#read.set(apiVersion, known);
    }
    return known;
  }

  async #prepare(
    webhook: ConversionWebhook,
    objects: readonly KubeObject[],
    to: ModelledKind,
  ): Promise<void> {
    const apiVersion = apiVersionOf(to);
    const known = this.#knownIn(apiVersion);
    const others = objects.filter((object) => object.apiVersion !== apiVersion && !known.has(object));
    const calls = this.#pendingIn(apiVersion);
    const pending = new Set<Promise<void>>();
    const missing = others.filter((object) => {
      const same = calls.get(object);
      if (same !== undefined) pending.add(same);
      return same === undefined;
    });
    for (const group of Map.groupBy(missing, (object) => object.apiVersion).values()) {
      const answer = this.#ask(webhook, group, to).finally(() => {
        for (const object of group) calls.delete(object);
      });
      pending.add(answer);
      for (const object of group) calls.set(object, answer);
    }
    await Promise.all(pending);
  }

  #pendingIn(apiVersion: string): Map<KubeObject, Promise<void>> {
    let pending = this.#pending.get(apiVersion);
    if (pending === undefined) {
      pending = new Map();
      this.#pending.set(apiVersion, pending);
    }
    return pending;
  }

  async #ask(webhook: ConversionWebhook, objects: readonly KubeObject[], to: ModelledKind): Promise<void> {
    const known = this.#knownIn(apiVersionOf(to));
    for (const batch of batchesOf(objects)) {
      const revived = batch.map((object) => this.#revived(object));
      const made = await webhook.convert(revived, apiVersionOf(to));
      for (const [index, object] of batch.entries()) {
        const read = deepFreeze(this.#coerced(made[index]!, to.version));
        known.set(object, read);
        known.set(read, read);
      }
    }
  }

  async #toStored(webhook: ConversionWebhook, object: KubeObject): Promise<KubeObject> {
    const { storedAs } = this.#version;
    if (object.apiVersion === storedAs) return object;
    const [made] = await webhook.convert([object], storedAs);
    // The webhook returns as many objects as it gets.
    return this.#coerced(made!, storedAs.slice(storedAs.indexOf("/") + 1));
  }

  /** Prunes an object of the webhook by the schema of its version. In place. */
  #coerced(object: KubeObject, version: string): KubeObject {
    const { resourceVersion } = object.metadata;
    this.#coerce(fieldsIn(object), { stored: true }, this.#schemas.get(version));
    if (resourceVersion !== undefined) object.metadata.resourceVersion = resourceVersion;
    return object;
  }

  /** Changes only the apiVersion, and prunes; defaults are those of the old version. */
  #inVersion(object: KubeObject, to: ModelledKind): KubeObject {
    const apiVersion = apiVersionOf(to);
    if (object.apiVersion === apiVersion) return object;
    if (this.conversion !== undefined)
      throw serverError(
        `conversion of ${object.apiVersion}, Kind=${object.kind} to ${apiVersion} is not available here`,
      );
    const renamed = thaw({ ...object, apiVersion, kind: to.kind });
    const { resourceVersion } = object.metadata;
    this.#coerce(fieldsIn(renamed), { stored: true }, this.#schemas.get(to.version));
    if (resourceVersion !== undefined) renamed.metadata.resourceVersion = resourceVersion;
    return renamed;
  }

  #revived(object: KubeObject): KubeObject {
    const schema = this.#schemas.get(versionOf(object));
    const draft = thaw(object);
    const plain = fieldsIn(draft);
    const { resourceVersion } = object.metadata;
    this.#coerce(plain, { stored: true }, schema);
    if (!draft.metadata.generation) draft.metadata.generation = 1;
    draft.metadata.resourceVersion = resourceVersion;
    setDefaults(plain, schema);
    return draft;
  }

  readonly strategy: Strategy = {
    prepareForCreate: ({ metadata }) => {
      if (!this.#version.terminating) return;
      const { group, resource } = this.#version;
      const detail = "create not allowed while custom resource definition is terminating";
      throw forbidden({ group, resource }, metadata.name, detail);
    },
  };

  validateCreate(object: KubeObject, context: ValidationContext): readonly FieldError[] {
    return this.#validation.create(object, context);
  }

  validateUpdate(
    object: KubeObject,
    old: KubeObject,
    subresource: string,
    context: ValidationContext,
  ): UpdateFindings {
    return this.#validation.update(object, old, subresource, context);
  }

  warnings(object: KubeObject, old: KubeObject | undefined, subresource: string): readonly string[] {
    return subresource === "status" ? [] : finalizerWarnings(object, old);
  }
}

const versionOf = ({ apiVersion }: KubeObject): string => apiVersion.slice(apiVersion.indexOf("/") + 1);
