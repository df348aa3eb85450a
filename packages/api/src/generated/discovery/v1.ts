// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, NamespacedMeta } from "../../objects/object.ts";
import type { ObjectReference } from "../core/v1.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface Endpoint {
  addresses: string[];
  conditions?: EndpointConditions;
  hostname?: string;
  targetRef?: ObjectReference;
  deprecatedTopology?: Record<string, string>;
  nodeName?: string;
  zone?: string;
  hints?: EndpointHints;
}

export interface EndpointConditions {
  ready?: boolean;
  serving?: boolean;
  terminating?: boolean;
}

export interface EndpointHints {
  forZones?: ForZone[];
  forNodes?: ForNode[];
}

export interface EndpointPort {
  name?: string;
  protocol?: string;
  port?: number;
  appProtocol?: string;
}

export interface EndpointSlice {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  addressType: string;
  endpoints?: Endpoint[];
  ports?: EndpointPort[];
}

export const EndpointSlice: Kind<EndpointSlice> = {"group":"discovery.k8s.io","version":"v1","kind":"EndpointSlice","resource":"endpointslices","namespaced":true};

export interface EndpointSliceList {
  metadata?: ListMeta;
  items: EndpointSlice[];
}

export interface ForNode {
  name: string;
}

export interface ForZone {
  name: string;
}
