import { filesVolume } from "../files-volume.ts";
import { downwardAPISource } from "../sources/downward-api.ts";

export const downwardAPI = filesVolume({
  field: "downwardAPI",
  name: "downward-api",
  plugins: [downwardAPISource],
  sources: (source) => [{ downwardAPI: { ...source } }],
});
