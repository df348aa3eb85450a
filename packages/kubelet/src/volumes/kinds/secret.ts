import { filesVolume } from "../files-volume.ts";
import { secretSource } from "../sources/secret.ts";

export const secret = filesVolume({
  field: "secret",
  name: "secret",
  plugins: [secretSource],
  sources: (source) => [{ secret: { ...source, name: source.secretName ?? "" } }],
});
