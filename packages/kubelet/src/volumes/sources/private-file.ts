import type { Pod } from "@dray/api/core/v1";
import { fsGroupOf, fsUserOf } from "../fs-group.ts";
import type { VolumeFile } from "../volume-files.ts";

/**
 * A file that only the user whom the pod names may read, if it names one. Upstream:
 * pkg/volume/projected/projected.go, collectData.
 */
export function privateFile(pod: Pod, path: string, content: string, mode: number): VolumeFile {
  const user = fsUserOf(pod);
  const file = { path, content: Buffer.from(content) };
  if (user === undefined && fsGroupOf(pod) === undefined) return { ...file, mode };
  return { ...file, mode: 0o600, ...(user === undefined ? {} : { user }) };
}
