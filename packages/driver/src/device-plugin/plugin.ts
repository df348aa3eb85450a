/**
 * Interface for the author of a device plugin: devices that pods ask for by number, as an extended resource
 * (device plugin API v1beta1). The socket, registration and restarts of the kubelet are the business of
 * `runDevicePlugin`.
 */
export interface DevicePlugin {
  /** The resource that pods ask for, as `example.com/lamp`: a domain, and a name of at most 63 characters. */
  readonly name: string;
  /**
   * Yields all devices of this node now and again whenever something about them changed. An error ends the
   * plugin; when it ends by itself, what it yielded last stays.
   */
  discover(signal: AbortSignal): AsyncIterable<readonly PluginDevice[]>;
  /**
   * Edits of a container that got these devices. Called once for each container that is admitted; again for
   * the same devices after a reboot, or when another container gets them. An error refuses the pod for good
   * (UnexpectedAdmissionError).
   */
  allocate(ids: readonly string[], signal: AbortSignal): Promise<AllocatedDevices> | AllocatedDevices;
  /** Returns which devices it had best be; the kubelet may choose others. */
  preferred?(request: PreferenceRequest): Promise<readonly string[]> | readonly string[];
  /** Makes devices ready before each start of a container, restarts too; the kubelet waits for 30 seconds. */
  preStart?(ids: readonly string[], signal: AbortSignal): Promise<void>;
}

export interface PluginDevice {
  /** Any text that is unique among the devices of the resource. */
  readonly id: string;
  /** Only healthy devices are given to pods; `Healthy` if absent. */
  readonly health?: "Healthy" | "Unhealthy";
  /** NUMA nodes that the device is near to; none if absent. */
  readonly numaNodes?: readonly number[];
}

export interface PreferenceRequest {
  readonly available: readonly string[];
  /** Those of `available` that are chosen already. */
  readonly mustInclude: readonly string[];
  /** How many there have to be, `mustInclude` among them. */
  readonly size: number;
}

/** Edits of a container. Names that two plugins use in one container have the value of one of them. */
export interface AllocatedDevices {
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly AllocatedMount[];
  readonly devices?: readonly AllocatedNode[];
  /** For the container runtime. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Qualified names, `vendor/class=device`; the specs are the plugin's business. */
  readonly cdiDevices?: readonly string[];
}

export interface AllocatedMount {
  readonly hostPath: string;
  readonly containerPath: string;
  /** False if absent. */
  readonly readOnly?: boolean;
}

/** A device node. */
export interface AllocatedNode {
  readonly hostPath: string;
  /** `hostPath` if absent. */
  readonly containerPath?: string;
  /** Letters of `rwm`: read, write, mknod; `rw` if absent. */
  readonly permissions?: string;
}
