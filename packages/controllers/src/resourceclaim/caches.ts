import type { Kind } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { Informer } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { servedPodGroups } from "../shared/served-kinds.ts";
import type { ServedResources } from "../shared/served-resources.ts";

/** Informers of the claim controller. */
export interface ClaimCaches {
  readonly pods: Informer<Pod>;
  readonly claims: Informer<ResourceClaim>;
  readonly templates: Informer<ResourceClaimTemplate>;
  /** Absent where the server has no groups. */
  readonly groups?: Informer<PodGroup>;
  readonly groupKind?: Kind<PodGroup>;
  /** Whether groups may have claims (gate DRAWorkloadResourceClaims). */
  readonly groupsHaveClaims: boolean;
}

export function claimCaches(context: ControllerContext, served: ServedResources): ClaimCaches {
  const { features, informers } = context;
  const groupKind = servedPodGroups(context, served);
  return {
    pods: informers.of(Pod),
    claims: informers.of(ResourceClaim),
    templates: informers.of(ResourceClaimTemplate),
    ...(groupKind === undefined ? {} : { groupKind, groups: informers.of(groupKind) }),
    groupsHaveClaims: groupKind !== undefined && features.enabled("DRAWorkloadResourceClaims"),
  };
}
