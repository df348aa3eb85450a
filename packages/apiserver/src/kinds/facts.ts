import type { FeatureGate } from "@dray/api";

/** Properties of a resource that are data; those that are code are in the strategy. */
export interface ResourceFacts {
  /**
   * Has a `status` subresource. The metadata that a write of it changes: all (`keep`), all except the labels
   * (`labels`), or managedFields only (`reset`).
   */
  readonly status?: "keep" | "labels" | "reset";
  /** First release with the `status` subresource. */
  readonly statusSince?: string;
  /** Has a `scale` subresource. */
  readonly scale?: true;
  /**
   * metadata.generation counts changes except those of metadata and status; `sent`: includes fields that a
   * disabled feature gate then drops; `changed`: new objects have no generation; `annotated`: includes
   * annotations, by which the revisions of a deployment are distinguished; `labelled`: includes labels.
   */
  readonly generation?: true | "sent" | "changed" | "annotated" | "labelled";
  /** First release with metadata.generation. */
  readonly generationSince?: string;
  /** A new object keeps the status in the request: a kubelet registers its node with a status. */
  readonly bringsStatus?: true;
  /** DELETE that removes an object at once returns the object; without this, a Status. */
  readonly answersDeleted?: true;
  /** PUT creates a missing object. */
  readonly createOnUpdate?: true;
  /** PUT requires the resourceVersion that it replaces: in all versions of the kind, or in these. */
  readonly needsVersion?: true | readonly string[];
  /** Not stored: POST returns the result of a review. */
  readonly createOnly?: true;
  readonly noDeleteCollection?: true;
  /** Not stored: GET reports the current state. */
  readonly readOnly?: true;
  /** Discovery has no hash of the storage version, which is not served. */
  readonly noStorageHash?: true;
  /** Version whose hash discovery shows, by release; by default, the one in which the objects are stored. */
  readonly storageVersion?: Readonly<Record<string, string>>;
  /** Supports neither protobuf bodies nor strategic merge patches. */
  readonly schemaless?: true;
  /** Go type of the response in messages, if not that of the kind. */
  readonly goType?: string;
  /** Field selectors besides metadata.name and metadata.namespace. */
  readonly fields?: readonly string[];
  readonly fieldsSince?: Readonly<Record<string, readonly string[]>>;
  /** Form of the message for an unknown field selector. */
  readonly fieldError?: "core" | "kind" | "job";
  readonly noNamespaceField?: true;
  /** Served by an extension API server in Kubernetes (metrics-server), so only if runtimeConfig names it. */
  readonly extension?: true;
  /** Served only if this gate is enabled. */
  readonly gate?: FeatureGate;
  readonly subresources?: Readonly<Record<string, SubresourceFacts>>;
  /** Versions of the schema that upstream no longer serves. */
  readonly unserved?: readonly string[];
  /** Deprecations by version. Upstream: the `+k8s:prerelease-lifecycle-gen` tags of its types. */
  readonly deprecated?: Readonly<Record<string, Deprecation>>;
}

/** Deprecation of a version of a kind, as reported by warnings. */
export interface Deprecation {
  /** Release. */
  readonly since: string;
  /** First release without the version. */
  readonly gone?: string;
  /** `discovery.k8s.io/v1 EndpointSlice` */
  readonly instead?: string;
}

/** A subresource: its kind (of the parent's version if no group is given) and its verbs. */
export interface SubresourceFacts {
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}
