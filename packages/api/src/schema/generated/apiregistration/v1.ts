// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { StoredMeta, Time } from "../../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

/** The server of a version of a group. Its name is VERSION.GROUP. */
export interface APIService {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** The version, and the server that has it. */
  spec: APIServiceSpec;
  /** Whether that server can be reached. */
  status?: APIServiceStatus;
}

/** A condition of an APIService. */
export interface APIServiceCondition {
  /** Available is the only type that the API server sets. */
  type: string;
  /** True, False or Unknown. */
  status?: string;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Cause of the status, in one word. */
  reason?: string;
  /** Cause of the status, for people. */
  message?: string;
}

export interface APIServiceList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: APIService[];
}

/** A version of a group, and the server that has it. */
export interface APIServiceSpec {
  /** Service of the server. Without one this API server serves the version itself. */
  service?: ServiceReference;
  /** Group. */
  group?: string;
  /** Version, such as v1. */
  version?: string;
  /** Whether the server's certificate is not verified. Better set caBundle. */
  insecureSkipTLSVerify?: boolean;
  /**
   * Certificates, in PEM, that the server's certificate is verified with. Without them those of the system.
   */
  caBundle?: string;
  /**
   * Order of groups in discovery, the highest first; the highest of a group's versions counts. 1 to 20000.
   */
  groupPriorityMinimum: number;
  /**
   * Order of the versions of the group, the highest first; equal ones by their names (v2, v1, v1beta1). 1 to
   * 1000.
   */
  versionPriority: number;
}

/** Whether the server can be reached. */
export interface APIServiceStatus {
  /** Conditions by type. */
  conditions?: APIServiceCondition[];
}

/** A port of a Service. */
export interface ServiceReference {
  /** Namespace of the Service. */
  namespace?: string;
  /** Name of the Service. */
  name?: string;
  /** Port of the Service. 443 if not set. */
  port?: number;
}
