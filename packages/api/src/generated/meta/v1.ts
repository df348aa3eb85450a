// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, Kind, NamespacedMeta, Time } from "../../objects/object.ts";

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
  force?: boolean;
  fieldManager?: string;
}

export interface GroupResource {
  group: string;
  resource: string;
}

export interface Condition {
  type: string;
  status?: string;
  observedGeneration?: Int64;
  lastTransitionTime: Time;
  reason: string;
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

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

export interface LabelSelectorRequirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface List {
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

export interface ManagedFieldsEntry {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: Time;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  selfLink?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: Int64;
  creationTimestamp?: Time;
  deletionTimestamp?: Time;
  deletionGracePeriodSeconds?: Int64;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface PartialObjectMetadata {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
}

export const PartialObjectMetadata: Kind<PartialObjectMetadata> = {"group":"meta","version":"v1","kind":"PartialObjectMetadata","resource":"partialobjectmetadatas","namespaced":true};

export interface PartialObjectMetadataList {
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
  paths?: string[];
}

export interface ServerAddressByClientCIDR {
  clientCIDR: string;
  serverAddress: string;
}

export interface ShardInfo {
  selector: string;
}

export interface Status {
  metadata?: ListMeta;
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
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface Table {
  metadata?: ListMeta;
  columnDefinitions?: TableColumnDefinition[];
  rows?: TableRow[];
}

export interface TableColumnDefinition {
  name?: string;
  type?: string;
  format?: string;
  description?: string;
  priority?: number;
}

export interface TableOptions {
  includeObject?: string;
}

export interface TableRow {
  cells?: unknown[];
  conditions?: TableRowCondition[];
  object?: unknown;
}

export interface TableRowCondition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
}

export interface TypeMeta {
  kind?: string;
  apiVersion?: string;
}

export interface UpdateOptions {
  dryRun?: string[];
  fieldManager?: string;
  fieldValidation?: string;
}
