import type { VolumePlugin } from "../plugin.ts";

/**
 * Images as volumes (KEP-4639). The agent pulls them before a container starts, and the runtime mounts them.
 */
export const image: VolumePlugin<"image"> = {
  field: "image",
  name: "image",
  setUp: async () => undefined,
};
