import type { HostPathVolumeSource } from "../../generated/core/v1.ts";

/** Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_HostPathVolumeSource */
export function defaultHostPath(source: HostPathVolumeSource | null | undefined): void {
  if (source) source.type ??= "";
}
