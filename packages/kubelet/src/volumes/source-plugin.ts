import type { Pod, VolumeProjection } from "@dray/api/core/v1";
import type { LastSetUp, VolumeHost } from "./plugin.ts";
import type { VolumeFile } from "./volume-files.ts";

/** Fields of a source of a projected volume that name its kind. */
export type SourceKind = keyof VolumeProjection;

/** One source of files of a volume. */
export interface FileSource<K extends SourceKind = SourceKind> {
  readonly pod: Pod;
  /** Name of the volume. */
  readonly volume: string;
  readonly source: NonNullable<VolumeProjection[K]>;
  /** Index of the source in the volume. */
  readonly index: number;
}

/** One kind of sources of files. A volume has one of them, or several if it is projected. */
export interface SourcePlugin<K extends SourceKind = SourceKind> {
  /** Supports sources with this field. */
  readonly field: K;
  /** Resource of the API to which a source refers, which excludes it from static pods. */
  readonly apiReference?: string;
  /** Called before each set-up of the volumes of a pod, also without such a source. */
  track?(pod: Pod, host: VolumeHost): void;
  /**
   * Resolves with the files; those without a mode of their own get `mode`. Rejects if an object does not
   * exist and is not optional.
   */
  files(source: FileSource<K>, mode: number, host: VolumeHost): Promise<readonly VolumeFile[]>;
  /** Returns when a refresh is due, in milliseconds since the epoch; undefined if nothing will change. */
  refreshAt?(source: FileSource<K>, last: LastSetUp, host: VolumeHost): number | undefined;
  /** Forgets a pod. */
  tearDown?(podUid: string, host: VolumeHost): void;
}
