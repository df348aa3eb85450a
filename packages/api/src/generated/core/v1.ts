// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/core/v1.ts";

export type * from "../../schema/generated/core/v1.ts";

export interface Binding extends types.Binding {}
export const Binding: Kind<Binding> = {"group":"","version":"v1","kind":"Binding","resource":"bindings","namespaced":true};

export interface ComponentStatus extends types.ComponentStatus {}
export const ComponentStatus: Kind<ComponentStatus> = {"group":"","version":"v1","kind":"ComponentStatus","resource":"componentstatuses","namespaced":false};

/** Configuration that pods read as variables or files. */
export interface ConfigMap extends types.ConfigMap {}
/** Configuration that pods read as variables or files. */
export const ConfigMap: Kind<ConfigMap> = {"group":"","version":"v1","kind":"ConfigMap","resource":"configmaps","namespaced":true};

export interface Endpoints extends types.Endpoints {}
export const Endpoints: Kind<Endpoints> = {"group":"","version":"v1","kind":"Endpoints","resource":"endpoints","namespaced":true};

export interface Event extends types.Event {}
export const Event: Kind<Event> = {"group":"","version":"v1","kind":"Event","resource":"events","namespaced":true};

export interface LimitRange extends types.LimitRange {}
export const LimitRange: Kind<LimitRange> = {"group":"","version":"v1","kind":"LimitRange","resource":"limitranges","namespaced":true};

/** A scope for names: objects in different namespaces can have the same name. */
export interface Namespace extends types.Namespace {}
/** A scope for names: objects in different namespaces can have the same name. */
export const Namespace: Kind<Namespace> = {"group":"","version":"v1","kind":"Namespace","resource":"namespaces","namespaced":false};

/** A machine that runs pods. */
export interface Node extends types.Node {}
/** A machine that runs pods. */
export const Node: Kind<Node> = {"group":"","version":"v1","kind":"Node","resource":"nodes","namespaced":false};

export interface PersistentVolume extends types.PersistentVolume {}
export const PersistentVolume: Kind<PersistentVolume> = {"group":"","version":"v1","kind":"PersistentVolume","resource":"persistentvolumes","namespaced":false};

/** Asks for storage. */
export interface PersistentVolumeClaim extends types.PersistentVolumeClaim {}
/** Asks for storage. */
export const PersistentVolumeClaim: Kind<PersistentVolumeClaim> = {"group":"","version":"v1","kind":"PersistentVolumeClaim","resource":"persistentvolumeclaims","namespaced":true};

/** Containers that run together on one node, with shared network and volumes. */
export interface Pod extends types.Pod {}
/** Containers that run together on one node, with shared network and volumes. */
export const Pod: Kind<Pod> = {"group":"","version":"v1","kind":"Pod","resource":"pods","namespaced":true};

export interface PodTemplate extends types.PodTemplate {}
export const PodTemplate: Kind<PodTemplate> = {"group":"","version":"v1","kind":"PodTemplate","resource":"podtemplates","namespaced":true};

export interface RangeAllocation extends types.RangeAllocation {}
export const RangeAllocation: Kind<RangeAllocation> = {"group":"","version":"v1","kind":"RangeAllocation","resource":"rangeallocations","namespaced":true};

/** Keeps a number of pods running. Deployment is its successor. */
export interface ReplicationController extends types.ReplicationController {}
/** Keeps a number of pods running. Deployment is its successor. */
export const ReplicationController: Kind<ReplicationController> = {"group":"","version":"v1","kind":"ReplicationController","resource":"replicationcontrollers","namespaced":true};

export interface ResourceQuota extends types.ResourceQuota {}
export const ResourceQuota: Kind<ResourceQuota> = {"group":"","version":"v1","kind":"ResourceQuota","resource":"resourcequotas","namespaced":true};

/** Confidential data that pods read as variables or files. At most 1 MiB. */
export interface Secret extends types.Secret {}
/** Confidential data that pods read as variables or files. At most 1 MiB. */
export const Secret: Kind<Secret> = {"group":"","version":"v1","kind":"Secret","resource":"secrets","namespaced":true};

/** A stable name and address for a set of pods. */
export interface Service extends types.Service {}
/** A stable name and address for a set of pods. */
export const Service: Kind<Service> = {"group":"","version":"v1","kind":"Service","resource":"services","namespaced":true};

export interface ServiceAccount extends types.ServiceAccount {}
export const ServiceAccount: Kind<ServiceAccount> = {"group":"","version":"v1","kind":"ServiceAccount","resource":"serviceaccounts","namespaced":true};
