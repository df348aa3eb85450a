import type { FeatureGate } from "@dray/api";

/** What differs between the resources of kinds as data; what differs as code is in the strategy. */
export interface ResourceFacts {
  /**
   * Has a `status` subresource. Which metadata a write of it changes: `keep` what comes, all but `labels`, or
   * none but managedFields (`reset`).
   */
  readonly status?: "keep" | "labels" | "reset";
  /** The first release that has the `status` subresource. */
  readonly statusSince?: string;
  /** Has a `scale` subresource. */
  readonly scale?: true;
  /**
   * metadata.generation counts changes of what is not metadata or status; `sent`: also those of fields that a
   * feature gate then drops; `changed`: new objects have none yet; `annotated`: also those of annotations,
   * which the revisions of a deployment are told by; `labelled`: also those of labels.
   */
  readonly generation?: true | "sent" | "changed" | "annotated" | "labelled";
  /** The first release that counts it. */
  readonly generationSince?: string;
  /** A new object keeps the status that it is sent with: a kubelet registers its node so. */
  readonly bringsStatus?: true;
  /** DELETE of something that is gone at once answers with the object, else with a Status. */
  readonly answersDeleted?: true;
  /** PUT creates what is not there. */
  readonly createOnUpdate?: true;
  /** PUT must say which resourceVersion it replaces. */
  readonly needsVersion?: true;
  /** Nothing is stored: POST answers a question. */
  readonly createOnly?: true;
  readonly noDeleteCollection?: true;
  /** Nothing is stored: GET shows how things are. */
  readonly readOnly?: true;
  /** Discovery does not show the version in which it is stored, since that is not served. */
  readonly noStorageHash?: true;
  /** By release, the version of which discovery shows the hash; else that in which the objects are stored. */
  readonly storageVersion?: Readonly<Record<string, string>>;
  /** There are no protobuf bodies of it and no strategic merge patches. */
  readonly schemaless?: true;
  /** What messages call the Go type of what is answered, where it is not that of the kind. */
  readonly goType?: string;
  /** Field selectors besides metadata.name and metadata.namespace. */
  readonly fields?: readonly string[];
  readonly fieldsSince?: Readonly<Record<string, readonly string[]>>;
  /** In which words an unknown field selector is refused. */
  readonly fieldError?: "core" | "kind" | "job";
  readonly noNamespaceField?: true;
  /**
   * In Kubernetes an extension API server has it (metrics-server): served only where runtimeConfig names it.
   */
  readonly extension?: true;
  /** Served only where this gate is on. */
  readonly gate?: FeatureGate;
  readonly subresources?: Readonly<Record<string, SubresourceFacts>>;
  /** Versions of the schema that upstream no longer serves. */
  readonly unserved?: readonly string[];
  /** By version. Upstream: the `+k8s:prerelease-lifecycle-gen` tags of its types. */
  readonly deprecated?: Readonly<Record<string, Deprecation>>;
}

/** That a version of a kind is deprecated, as warnings report it. */
export interface Deprecation {
  /** Release. */
  readonly since: string;
  /** Release that no longer has it. */
  readonly gone?: string;
  /** `discovery.k8s.io/v1 EndpointSlice` */
  readonly instead?: string;
}

/** A subresource: whose kind it speaks (of the parent's version if no group is given), and its verbs. */
export interface SubresourceFacts {
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}
