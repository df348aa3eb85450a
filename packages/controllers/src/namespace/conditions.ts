import type { KubeObject } from "@dray/api";
import type { NamespaceCondition } from "@dray/api/core/v1";
import type { ServedResource } from "../shared/served-resources.ts";
import { withCondition } from "../shared/status.ts";

/** Objects that one sync has left in a namespace. */
export interface NamespaceContents {
  readonly left: ReadonlyMap<ServedResource, readonly KubeObject[]>;
  readonly failures: readonly string[];
  /**
   * Versions of aggregated API servers that could not be read: their objects in the namespace are unknown.
   */
  readonly unread: readonly string[];
}

/** A condition that blocks a deletion while it is True, with its messages. */
interface Obstacle {
  readonly type: string;
  readonly holds?: { readonly reason: string; readonly message: string } | undefined;
  readonly otherwise: { readonly reason: string; readonly message: string };
}

/**
 * The conditions that say what holds the deletion of a namespace up.
 *
 * Upstream: pkg/controller/namespace/deletion/status_condition_utils.go.
 */
export function deletionConditions(
  before: readonly NamespaceCondition[] | undefined,
  contents: NamespaceContents,
  now: string,
): NamespaceCondition[] {
  let conditions: NamespaceCondition[] = [...(before ?? [])];
  for (const { type, holds, otherwise } of obstacles(contents)) {
    const condition = { type, status: holds === undefined ? "False" : "True", ...(holds ?? otherwise) };
    conditions = withCondition(conditions, condition, now);
  }
  return conditions;
}

function obstacles({ left, failures, unread }: NamespaceContents): Obstacle[] {
  const counts: string[] = [];
  const finalizers = new Map<string, number>();
  for (const [{ kind }, objects] of left) {
    const name = kind.group === "" ? kind.resource : `${kind.resource}.${kind.group}`;
    counts.push(`${name} has ${objects.length} resource instances`);
    for (const held of objects.flatMap(({ metadata }) => metadata.finalizers ?? []))
      finalizers.set(held, (finalizers.get(held) ?? 0) + 1);
  }
  const held = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`);
  return [
    {
      type: "NamespaceDeletionDiscoveryFailure",
      holds: ifAny(
        unread,
        "DiscoveryFailed",
        `Discovery failed for some groups, ${unread.length} failing: unable to retrieve the complete list of server APIs: ${unread
          .map((version) => `${version}: stale GroupVersion discovery: ${version}`)
          .join(", ")}`,
      ),
      otherwise: { reason: "ResourcesDiscovered", message: "All resources successfully discovered" },
    },
    {
      type: "NamespaceDeletionGroupVersionParsingFailure",
      otherwise: { reason: "ParsedGroupVersions", message: "All legacy kube types successfully parsed" },
    },
    {
      type: "NamespaceDeletionContentFailure",
      holds: ifAny(
        failures,
        "ContentDeletionFailed",
        `Failed to delete all resource types, ${failures.length} remaining: ${failures.join("; ")}`,
      ),
      otherwise: {
        reason: "ContentDeleted",
        message: "All content successfully deleted, may be waiting on finalization",
      },
    },
    {
      type: "NamespaceContentRemaining",
      holds: ifAny(
        counts,
        "SomeResourcesRemain",
        `Some resources are remaining: ${counts.sort().join(", ")}`,
      ),
      otherwise: { reason: "ContentRemoved", message: "All content successfully removed" },
    },
    {
      type: "NamespaceFinalizersRemaining",
      holds: ifAny(
        held,
        "SomeFinalizersRemain",
        `Some content in the namespace has finalizers remaining: ${held.sort().join(", ")}`,
      ),
      otherwise: {
        reason: "ContentHasNoFinalizers",
        message: "All content-preserving finalizers finished",
      },
    },
  ];
}

function ifAny(list: readonly string[], reason: string, message: string): Obstacle["holds"] {
  return list.length === 0 ? undefined : { reason, message };
}
