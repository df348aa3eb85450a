/** A volume of a pod that is set up. */
export interface MountedVolume {
  /** Path on the machine. */
  readonly path: string;
  /** Containers mount it read-only, whatever they request. */
  readonly readOnly: boolean;
}
