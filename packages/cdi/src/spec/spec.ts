/** The content of a CDI spec file (Container Device Interface 1.1.0). */
export interface Spec {
  readonly cdiVersion: string;
  /** `vendor/class` */
  readonly kind: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly devices: readonly Device[];
  /** Applied once with the first device of this spec, before the device's own. */
  readonly containerEdits?: ContainerEdits;
}

export interface Device {
  readonly name: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly containerEdits: ContainerEdits;
}

export interface ContainerEdits {
  /** `NAME=value` */
  readonly env?: readonly string[];
  readonly deviceNodes?: readonly DeviceNode[];
  readonly netDevices?: readonly NetDevice[];
  readonly mounts?: readonly Mount[];
  readonly hooks?: readonly Hook[];
  readonly intelRdt?: IntelRdt;
  readonly additionalGids?: readonly number[];
}

export interface DeviceNode {
  readonly path: string;
  /** `path` if absent. */
  readonly hostPath?: string;
  /** Block, character, unbuffered character, fifo; empty: as on the host. */
  readonly type?: "b" | "c" | "u" | "p" | "";
  readonly major?: number;
  readonly minor?: number;
  readonly fileMode?: number;
  /** Letters of `rwm`, or `none`; absent: `rwm`. */
  readonly permissions?: string;
  readonly uid?: number;
  readonly gid?: number;
}

export interface NetDevice {
  readonly hostInterfaceName: string;
  readonly name: string;
}

export interface Mount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly options?: readonly string[];
  readonly type?: string;
}

export const hookNames = [
  "prestart",
  "createRuntime",
  "createContainer",
  "startContainer",
  "poststart",
  "poststop",
] as const;
export type HookName = (typeof hookNames)[number];

export interface Hook {
  readonly hookName: HookName;
  readonly path: string;
  readonly args?: readonly string[];
  readonly env?: readonly string[];
  /** Seconds. */
  readonly timeout?: number;
}

export interface IntelRdt {
  readonly closID?: string;
  readonly l3CacheSchema?: string;
  readonly memBwSchema?: string;
  readonly schemata?: readonly string[];
  readonly enableMonitoring?: boolean;
}

/** A problem of a spec, and its path. */
export class CdiError extends Error {
  override readonly name = "CdiError";
}
