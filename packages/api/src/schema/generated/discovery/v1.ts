// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { NamespacedMeta } from "../../../objects/object.ts";
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
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  addressType: string;
  endpoints?: Endpoint[];
  ports?: EndpointPort[];
}

export interface EndpointSliceList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: EndpointSlice[];
}

export interface ForNode {
  name: string;
}

export interface ForZone {
  name: string;
}
