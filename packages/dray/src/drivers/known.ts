import type { FeatureGate, KubeObject } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { Device } from "@dray/api/resource/v1";

/** A driver that `up --driver` installs. */
export interface KnownDriver {
  /** Settings, by name in `NAME:key=value`. */
  readonly settings: Readonly<Record<string, Setting>>;
  /** Returns the objects to install. Throws an Error for contradictory settings. */
  install(settings: Settings): Installation;
}

export interface Setting {
  /** An example of a value. */
  readonly example: string;
  /** Accepted values, as text. */
  readonly accepted: string;
  accepts(value: string): boolean;
}

/** As written in a flag. */
export type Settings = Readonly<Record<string, string>>;

/** A driver with its settings. */
export interface Installation {
  /** Unique in a cluster. */
  readonly id: string;
  /** Name of the driver in ResourceSlices, or the extended resource. */
  readonly offers: string;
  readonly daemonSet: { readonly namespace: string; readonly name: string };
  /** Folders and files of manifests, relative to the examples; subfolders are ignored. */
  readonly manifests: readonly (readonly string[])[];
  /** Applies the settings to an object of a manifest. */
  adapt(object: KubeObject): KubeObject;
  /** Number of devices on each node. */
  readonly deviceCount: number;
  /**
   * Reports whether a node has the devices of these settings and not those of previous settings. `devices`
   * are in the node's ResourceSlices; undefined: these are incomplete.
   */
  isOn(node: Node, devices: readonly Device[] | undefined): boolean;
  /** The settings that need a feature gate, without which the API server drops their fields. */
  readonly needs: readonly { readonly setting: string; readonly gate: FeatureGate }[];
  /**
   * Folder of an example, relative to the examples, and commands that show it; `folder` is its path, quoted
   * for a shell.
   */
  readonly example: readonly string[];
  commands(folder: string): readonly string[];
}
