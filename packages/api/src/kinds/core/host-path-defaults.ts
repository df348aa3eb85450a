import type { HostPathVolumeSource } from "../../generated/core/v1.ts";
import type { Wire } from "../../objects/wire.ts";

/** Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_HostPathVolumeSource */
export function defaultHostPath(source: Wire<HostPathVolumeSource> | null | undefined): void {
  if (source) source.type ??= "";
}
