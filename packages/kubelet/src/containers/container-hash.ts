import { createHash } from "node:crypto";
import { encodeJSON } from "@dray/api";
import type { Container } from "@dray/api/core/v1";

/**
 * Hash of the fields whose change replaces a running container: its name and its image.
 *
 * Upstream: pkg/kubelet/container/helpers.go, HashContainer.
 */
export function containerHash({ name, image = "" }: Pick<Container, "name" | "image">): string {
  return createHash("sha256").update(encodeJSON({ name, image })).digest("hex").slice(0, 16);
}
