import { types } from "@dray/cel";

const { boolType, dynType, intType, listType, mapType, stringType, structType, timestampType } = types;
type CelType = types.CelType;
type Fields = Readonly<Record<string, CelType>>;

const strings = listType(stringType);
const stringMap = mapType(stringType, stringType);
const object = (name: string): CelType => structType(`kubernetes.${name}`);

/**
 * The fields that expressions may name of `request` and `namespaceObject` (KEP-3488). Upstream leaves some
 * out on purpose, and spells `metadata.UID` so.
 */
const declared: Readonly<Record<string, Fields>> = {
  GroupVersionKind: { group: stringType, version: stringType, kind: stringType },
  GroupVersionResource: { group: stringType, version: stringType, resource: stringType },
  UserInfo: {
    username: stringType,
    uid: stringType,
    groups: strings,
    extra: mapType(stringType, strings),
  },
  AdmissionRequest: {
    kind: object("GroupVersionKind"),
    resource: object("GroupVersionResource"),
    subResource: stringType,
    requestKind: object("GroupVersionKind"),
    requestResource: object("GroupVersionResource"),
    requestSubResource: stringType,
    name: stringType,
    namespace: stringType,
    operation: stringType,
    userInfo: object("UserInfo"),
    dryRun: boolType,
    options: dynType,
  },
  NamespaceSpec: { finalizers: strings },
  NamespaceCondition: {
    status: stringType,
    type: stringType,
    lastTransitionTime: timestampType,
    message: stringType,
    reason: stringType,
  },
  NamespaceStatus: { conditions: listType(object("NamespaceCondition")), phase: stringType },
  NamespaceMetadata: {
    name: stringType,
    generateName: stringType,
    namespace: stringType,
    labels: stringMap,
    annotations: stringMap,
    UID: stringType,
    creationTimestamp: timestampType,
    deletionGracePeriodSeconds: intType,
    deletionTimestamp: timestampType,
    generation: intType,
    resourceVersion: stringType,
    finalizers: strings,
  },
  Namespace: {
    metadata: object("NamespaceMetadata"),
    spec: object("NamespaceSpec"),
    status: object("NamespaceStatus"),
  },
};

export const requestType = object("AdmissionRequest");
export const namespaceType = object("Namespace");

/** By the names of the types, then of their fields. */
export const requestFields: ReadonlyMap<string, ReadonlyMap<string, CelType>> = new Map(
  Object.entries(declared).map(([name, fields]) => [`kubernetes.${name}`, new Map(Object.entries(fields))]),
);
