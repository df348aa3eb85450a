// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, NamespacedMeta, Time } from "../../../objects/object.ts";

export interface APIGroup {
  name: string;
  versions: GroupVersionForDiscovery[];
  preferredVersion?: GroupVersionForDiscovery;
  serverAddressByClientCIDRs?: ServerAddressByClientCIDR[];
}

export interface APIGroupList {
  groups: APIGroup[];
}

export interface APIResource {
  name: string;
  singularName: string;
  namespaced: boolean;
  group?: string;
  version?: string;
  /** The kind of the object, in CamelCase. */
  kind: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  storageVersionHash?: string;
}

export interface APIResourceList {
  groupVersion: string;
  resources: APIResource[];
}

export interface APIVersions {
  versions: string[];
  serverAddressByClientCIDRs: ServerAddressByClientCIDR[];
}

export interface ApplyOptions {
  dryRun?: string[];
  force: boolean;
  fieldManager: string;
}

export interface GroupResource {
  group: string;
  resource: string;
}

/** An observation of an object. */
export interface Condition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type: string;
  /** True, False or Unknown. */
  status?: string;
  /** metadata.generation of the spec that the condition is about. */
  observedGeneration?: Int64;
  /** When the status last changed. */
  lastTransitionTime: Time;
  /** Why, in one CamelCase word. */
  reason: string;
  /** Why, for people. */
  message: string;
}

export interface CreateOptions {
  dryRun?: string[];
  fieldManager?: string;
  fieldValidation?: string;
}

export interface DeleteOptions {
  gracePeriodSeconds?: Int64;
  preconditions?: Preconditions;
  orphanDependents?: boolean;
  propagationPolicy?: string;
  dryRun?: string[];
  ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
}

export interface FieldSelectorRequirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface GetOptions {
  resourceVersion?: string;
}

export interface GroupVersionForDiscovery {
  groupVersion: string;
  version: string;
}

/** Selects objects by label: those that meet all requirements. Empty: all objects. */
export interface LabelSelector {
  /** Values that labels must have. */
  matchLabels?: Record<string, string>;
  /** Requirements on labels. */
  matchExpressions?: LabelSelectorRequirement[];
}

/** A requirement on a label. */
export interface LabelSelectorRequirement {
  /** Key of the label. */
  key: string;
  /** In, NotIn, Exists or DoesNotExist. */
  operator: string;
  /** Values for In and NotIn; none for the others. */
  values?: string[];
}

export interface List {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: unknown[];
}

export interface ListMeta {
  selfLink?: string;
  resourceVersion?: string;
  continue?: string;
  remainingItemCount?: Int64;
  shardInfo?: ShardInfo;
}

export interface ListOptions {
  labelSelector?: string;
  fieldSelector?: string;
  watch?: boolean;
  allowWatchBookmarks?: boolean;
  resourceVersion?: string;
  resourceVersionMatch?: string;
  timeoutSeconds?: Int64;
  limit?: Int64;
  continue?: string;
  sendInitialEvents?: boolean;
  shardSelector?: string;
}

/** The fields that one manager has set. */
export interface ManagedFieldsEntry {
  /** Name of the manager, such as kubectl. */
  manager?: string;
  /** Apply or Update. */
  operation?: string;
  /** Group and version that the fields are written in. */
  apiVersion?: string;
  /** When it last changed. */
  time?: Time;
  /** FieldsV1. */
  fieldsType?: string;
  /** The fields. */
  fieldsV1?: Record<string, unknown>;
  /** Subresource through which they were set. */
  subresource?: string;
}

/** Name, namespace, labels and what else all objects have. */
export interface ObjectMeta {
  /** Name of the object, unique among its kind in the namespace. Cannot change. */
  name?: string;
  /** Prefix of the name that the server makes if name is empty. */
  generateName?: string;
  /** Namespace of the object. Empty for kinds without one. Cannot change. */
  namespace?: string;
  /** Not used any more. */
  selfLink?: string;
  /** Unique id, made by the server. */
  uid?: string;
  /** Version of the object. An update with an old one is refused (409 Conflict). */
  resourceVersion?: string;
  /** Counts changes of the spec. */
  generation?: Int64;
  /** CreationTimestamp is a timestamp of when the object was created. Set by the server. */
  creationTimestamp?: Time;
  /** When the object will be, or was asked to be, gone. Set by the server. */
  deletionTimestamp?: Time;
  /** Seconds from the request to deletionTimestamp. */
  deletionGracePeriodSeconds?: Int64;
  /** Keys and values that selectors select by. */
  labels?: Record<string, string>;
  /** Keys and values for programs; nothing selects by them. */
  annotations?: Record<string, string>;
  /** Owners; when all are gone the object is deleted. */
  ownerReferences?: OwnerReference[];
  /** Names that must be taken away before a deleted object is removed. */
  finalizers?: string[];
  /** Fields by the manager that has set them, for server-side apply. */
  managedFields?: ManagedFieldsEntry[];
}

/** An owner of an object, in the same namespace or without one. */
export interface OwnerReference {
  /** Group and version of the owner. */
  apiVersion: string;
  /** Kind of the owner. */
  kind: string;
  /** Name of the owner. */
  name: string;
  /** UID of the owner. */
  uid: string;
  /** True: the owner manages the object. At most one owner does. */
  controller?: boolean;
  /** True: foreground deletion of the owner waits for the object. */
  blockOwnerDeletion?: boolean;
}

export interface PartialObjectMetadata {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
}

export interface PartialObjectMetadataList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: PartialObjectMetadata[];
}

export interface PatchOptions {
  dryRun?: string[];
  force?: boolean;
  fieldManager?: string;
  fieldValidation?: string;
}

export interface Preconditions {
  uid?: string;
  resourceVersion?: string;
}

export interface RootPaths {
  paths: string[];
}

export interface ServerAddressByClientCIDR {
  clientCIDR: string;
  serverAddress: string;
}

export interface ShardInfo {
  selector: string;
}

export interface Status {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  /** Last observed status. The system writes it. */
  status?: string;
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  /** The kind of the object, in CamelCase. */
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface Table {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  columnDefinitions: TableColumnDefinition[];
  rows: TableRow[];
}

export interface TableColumnDefinition {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

export interface TableOptions {
  includeObject?: string;
}

export interface TableRow {
  cells: unknown[];
  conditions?: TableRowCondition[];
  object?: unknown;
}

export interface TableRowCondition {
  type: string;
  /** Last observed status. The system writes it. */
  status?: string;
  reason?: string;
  message?: string;
}

export interface TypeMeta {
  /** The kind of the object, in CamelCase. */
  kind?: string;
  /** APIVersion defines the group and version of this representation of the object, such as apps/v1. */
  apiVersion?: string;
}

export interface UpdateOptions {
  dryRun?: string[];
  fieldManager?: string;
  fieldValidation?: string;
}
