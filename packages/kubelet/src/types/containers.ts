import type { Container, EphemeralContainer, Pod } from "@dray/api/core/v1";

/** The fields that containers, init containers and ephemeral containers share. */
export type StartableContainer = Container | EphemeralContainer;

/** All containers of a pod in the order in which they start. */
export function allContainers({ spec }: Pod): readonly StartableContainer[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
}
