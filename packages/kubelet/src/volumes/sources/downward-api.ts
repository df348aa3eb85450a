import { encodeJSON } from "@dray/api";
import type { DownwardAPIVolumeFile, Pod } from "@dray/api/core/v1";
import { fieldValue, resourceValue } from "../../containers/environment.ts";
import type { VolumeHost } from "../plugin.ts";
import type { SourcePlugin } from "../source-plugin.ts";
import type { VolumeFile } from "../volume-files.ts";

export const downwardAPISource: SourcePlugin<"downwardAPI"> = {
  field: "downwardAPI",
  files: async ({ pod, source: { items = [] } }, mode, host) =>
    items.map((item) => fileOf(pod, item, mode, host)),
  refreshAt: ({ pod }, last, { clock }) =>
    last.metadata === labelsAndAnnotations(pod) ? undefined : clock.now(),
};

/** The fields in a volume that change while a pod runs, as text. */
export function labelsAndAnnotations({ metadata: { labels = {}, annotations = {} } }: Pod): string {
  return encodeJSON({ labels, annotations });
}

function fileOf(pod: Pod, item: DownwardAPIVolumeFile, mode: number, host: VolumeHost): VolumeFile {
  const { path, fieldRef, resourceFieldRef } = item;
  let text = "";
  if (fieldRef !== undefined)
    text = fieldValue(pod, fieldRef.fieldPath, { podIPs: [], hostIPs: [host.nodeAddress] });
  else if (resourceFieldRef !== undefined) {
    const { containerName, resource, divisor } = resourceFieldRef;
    const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(
      ({ name }) => name === containerName,
    );
    if (container === undefined) throw new Error(`container ${containerName} not found`);
    text = resourceValue(container, resource, divisor, [host.node().status?.allocatable]);
  }
  return { path, content: Buffer.from(text), mode: item.mode ?? mode };
}
