import type { FeatureGate, KubeObject } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { Device } from "@dray/api/resource/v1";

/** A driver that `up --driver` installs. */
export interface KnownDriver {
  /** Settings, by name in `NAME:key=value`. */
  readonly settings: Readonly<Record<string, Setting>>;
  /** Objects to install. Throws an Error for settings that do not go together. */
  install(settings: Settings): Installation;
}

export interface Setting {
  /** A value, to show what one looks like. */
  readonly example: string;
  /** Accepted values, as text. */
  readonly accepted: string;
  accepts(value: string): boolean;
}

/** As a flag has them. */
export type Settings = Readonly<Record<string, string>>;

/** A driver with its settings. */
export interface Installation {
  /** Unique in a cluster. */
  readonly id: string;
  /** Name of the driver in ResourceSlices, or the extended resource. */
  readonly offers: string;
  readonly daemonSet: { readonly namespace: string; readonly name: string };
  /** Folders and files of manifests, below the examples; of a folder those that lie in it directly. */
  readonly manifests: readonly (readonly string[])[];
  /** The object of a manifest, with the settings. */
  adapt(object: KubeObject): KubeObject;
  /** Number of devices on each node. */
  readonly deviceCount: number;
  /**
   * Reports whether a node has the devices as the settings want them, and not those of settings before.
   * `devices` are in the node's ResourceSlices; undefined: these are not complete.
   */
  isOn(node: Node, devices: readonly Device[] | undefined): boolean;
  /** The settings that need a feature gate: without it the API server drops what they are about. */
  readonly needs: readonly { readonly setting: string; readonly gate: FeatureGate }[];
  /**
   * Folder of an example, below the examples, and commands that show it; `folder` is its path, quoted for a
   * shell.
   */
  readonly example: readonly string[];
  commands(folder: string): readonly string[];
}
