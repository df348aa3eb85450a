import type {
  LimitRange,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  ReplicationController,
  ResourceQuota,
  Secret,
  Service,
} from "../generated/core/v1.ts";
import { setKey } from "../json/parser.ts";
import { defaultPodTemplate, roundResources } from "./pod.ts";
import { defaultVolumeSources } from "./volume-sources.ts";

export function defaultNamespace(namespace: Namespace): void {
  const { metadata } = namespace;
  if (metadata.name) {
    metadata.labels ??= {};
    metadata.labels["kubernetes.io/metadata.name"] ??= metadata.name;
  }
  namespace.status ??= {};
  namespace.status.phase ||= "Active";
}

export function defaultNode(node: Node): void {
  node.spec ??= {};
  const { spec, status } = node;
  // Two forms of one field: `podCIDR` is the first of `podCIDRs`.
  if (spec.podCIDR && spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR];
  else if (spec.podCIDRs?.[0]) spec.podCIDR ||= spec.podCIDRs[0];
  if (!status) return;
  if (!status.allocatable && status.capacity) status.allocatable = { ...status.capacity };
  roundResources(status.capacity);
  roundResources(status.allocatable);
}

/** Base64 of a text's UTF-8 bytes. */
function encoded(text: string): string {
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

export function defaultSecret(secret: Secret): void {
  secret.type ||= "Opaque";
  // `stringData` is a way of writing only: it never comes back.
  for (const [name, text] of Object.entries(secret.stringData ?? {})) {
    secret.data ??= {};
    setKey(secret.data, name, encoded(text));
  }
  delete secret.stringData;
}

/** Stickiness by client address lasts three hours where nobody says. */
const stickySeconds = 3 * 60 * 60;

export function defaultService(service: Service): void {
  service.spec ??= {};
  const { spec } = service;
  spec.sessionAffinity ||= "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === "ClientIP" && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds == null) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: stickySeconds } };
  }
  spec.type ||= "ClusterIP";
  for (const port of spec.ports ?? []) {
    port.protocol ||= "TCP";
    port.targetPort ||= port.port;
  }
  const outside = spec.type === "NodePort" || spec.type === "LoadBalancer";
  if (outside || (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0)) {
    spec.externalTrafficPolicy ||= "Cluster";
  }
  if (outside || spec.type === "ClusterIP") spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type === "LoadBalancer") {
    spec.allocateLoadBalancerNodePorts ??= true;
    for (const ingress of service.status?.loadBalancer?.ingress ?? []) {
      if (ingress.ip) ingress.ipMode ??= "VIP";
    }
  }
}

export function defaultLimitRange(range: LimitRange): void {
  for (const item of range.spec?.limits ?? []) {
    if (item.type === "Container") {
      item.default ??= {};
      for (const [name, max] of Object.entries(item.max ?? {})) item.default[name] ??= max;
      item.defaultRequest ??= {};
      for (const [name, limit] of Object.entries(item.default)) item.defaultRequest[name] ??= limit;
      for (const [name, min] of Object.entries(item.min ?? {})) item.defaultRequest[name] ??= min;
    }
    for (const list of [item.max, item.min, item.default, item.defaultRequest, item.maxLimitRequestRatio]) {
      roundResources(list);
    }
  }
}

export function defaultResourceQuota(quota: ResourceQuota): void {
  roundResources(quota.spec?.hard);
  roundResources(quota.status?.hard);
  roundResources(quota.status?.used);
}

export function defaultReplicationController(controller: ReplicationController): void {
  controller.spec ??= {};
  const { spec } = controller;
  const labels = spec.template?.metadata?.labels;
  if (labels && Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
  if (labels && Object.keys(controller.metadata.labels ?? {}).length === 0) {
    controller.metadata.labels = { ...labels };
  }
  spec.replicas ??= 1;
  defaultPodTemplate(spec.template);
}

export function defaultPersistentVolume(volume: PersistentVolume): void {
  volume.spec ??= {};
  volume.status ??= {};
  volume.status.phase ||= "Pending";
  volume.spec.persistentVolumeReclaimPolicy ||= "Retain";
  volume.spec.volumeMode ??= "Filesystem";
  defaultVolumeSources(volume.spec);
  roundResources(volume.spec.capacity);
}

export function defaultPersistentVolumeClaim(claim: PersistentVolumeClaim): void {
  claim.spec ??= {};
  claim.status ??= {};
  claim.status.phase ||= "Pending";
  claim.spec.volumeMode ??= "Filesystem";
  roundResources(claim.spec.resources?.requests);
  roundResources(claim.spec.resources?.limits);
}
