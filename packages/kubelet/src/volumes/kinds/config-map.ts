import { filesVolume } from "../files-volume.ts";
import { configMapSource } from "../sources/config-map.ts";

export const configMap = filesVolume({
  field: "configMap",
  name: "configmap",
  plugins: [configMapSource],
  sources: (source) => [{ configMap: { ...source } }],
});
