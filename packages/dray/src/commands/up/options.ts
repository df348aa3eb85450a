import type { TargetFlags } from "../../options/target.ts";

/** The flags of `dray up`. */
export interface UpOptions extends TargetFlags {
  readonly nodes?: string;
  /** A number, or `all`. */
  readonly simulatedNodes?: string;
  readonly port?: string;
  readonly bindAddress?: string;
  readonly advertiseAddress?: string;
  readonly runtimeConfig?: string;
  readonly enableAdmissionPlugins?: string;
  readonly kubeconfig?: string;
  readonly store?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
  readonly runtime?: string;
  /** A folder, or `none`. */
  readonly registryHosts?: string;
  /** `node` or `machine`. */
  readonly hostNetwork?: string;
  /** Comma-separated patterns, or `none`. */
  readonly allowedUnsafeSysctls?: string;
  readonly image: readonly string[];
  readonly driver: readonly string[];
  /** A file, or `none`. */
  readonly fleet?: string;
  /** A file, or `none`. */
  readonly schedulerConfig?: string;
  readonly detach?: boolean;
  readonly output?: "json" | "yaml";
  /** The parent of this process is `startDetached`. */
  readonly detached?: boolean;
}
