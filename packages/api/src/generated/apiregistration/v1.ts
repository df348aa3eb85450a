// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, StoredMeta, Time } from "../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface APIService {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: APIServiceSpec;
  status?: APIServiceStatus;
}

export const APIService: Kind<APIService> = {"group":"apiregistration.k8s.io","version":"v1","kind":"APIService","resource":"apiservices","namespaced":false};

export interface APIServiceCondition {
  type: string;
  status?: string;
  lastTransitionTime?: Time;
  reason?: string;
  message?: string;
}

export interface APIServiceList {
  metadata?: ListMeta;
  items: APIService[];
}

export interface APIServiceSpec {
  service?: ServiceReference;
  group?: string;
  version?: string;
  insecureSkipTLSVerify?: boolean;
  caBundle?: string;
  groupPriorityMinimum: number;
  versionPriority: number;
}

export interface APIServiceStatus {
  conditions?: APIServiceCondition[];
}

export interface ServiceReference {
  namespace?: string;
  name?: string;
  port?: number;
}
