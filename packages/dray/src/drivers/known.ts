import type { KubeObject } from "@dray/api";
import type { Device } from "@dray/api/resource/v1";

/** A driver that `up --driver` installs. */
export interface KnownDriver {
  /** What may be set, by its name in `NAME:key=value`. */
  readonly settings: Readonly<Record<string, Setting>>;
  /** What is to be installed. Throws an Error for settings that do not go together. */
  install(settings: Settings): Installation;
}

export interface Setting {
  /** A value, to show what one looks like. */
  readonly example: string;
  /** What is accepted, for people. */
  readonly accepted: string;
  accepts(value: string): boolean;
}

/** As a flag has them. */
export type Settings = Readonly<Record<string, string>>;

/** One driver with its settings; several installations of one driver can be in a cluster, each with a name of its own. */
export interface Installation {
  /** What its ResourceSlices name. */
  readonly driverName: string;
  readonly daemonSet: { readonly namespace: string; readonly name: string };
  /** Folders and files of manifests, below the examples; of a folder those that lie in it directly. */
  readonly manifests: readonly (readonly string[])[];
  /** The object of a manifest, with the settings. */
  adapt(object: KubeObject): KubeObject;
  /** How many devices it publishes on each node. */
  readonly deviceCount: number;
  /** Whether a device of its node is as the settings want it, and not what was published before. */
  isCurrent(device: Device): boolean;
  /** What to look at where devices do not come: `partitions needs the feature gate DRAPartitionableDevices`. */
  readonly needs: readonly string[];
  /** Folder of an example, below the examples, and commands that show it; `folder` is its path, quoted for a shell. */
  readonly example: readonly string[];
  commands(folder: string): readonly string[];
}
