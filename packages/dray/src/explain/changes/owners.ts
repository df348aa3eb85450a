import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { nameOf } from "../../manifests/place.ts";
import type { Trial } from "../trial.ts";
import type { Edit } from "./attempts.ts";

/** Returns the template of a claim, and the waiting pods' claims from the same template. */
function alikeClaims(
  { members, open }: Trial,
  claim: ResourceClaim,
): { readonly template?: string; readonly claims: readonly ResourceClaim[] } {
  const made = members.flatMap((pod) =>
    createdPodClaims(pod).flatMap(({ name, entry }) => {
      const object = open.find((each) => nameOf(each) === `${pod.metadata.namespace}/${name}`);
      const template = entry?.resourceClaimTemplateName;
      return object === undefined || template === undefined ? [] : [{ object, template }];
    }),
  );
  const template = made.find(({ object }) => object === claim)?.template;
  if (template === undefined) return { claims: [claim] };
  const claims = new Set(made.filter((each) => each.template === template).map(({ object }) => object));
  return { template, claims: [...claims] };
}

/** `claim default/a (template t)`: the template is the object to change. */
export function claimText(trial: Trial, claim: ResourceClaim): string {
  const { template, claims } = alikeClaims(trial, claim);
  if (template === undefined) return `claim ${nameOf(claim)}`;
  return claims.length > 1
    ? `the claims of template ${template}`
    : `claim ${nameOf(claim)} (template ${template})`;
}

/** Edits a claim, and those of its group from the same template. */
export function claimEdits(
  trial: Trial,
  claim: ResourceClaim,
  edit: (claim: ResourceClaim) => ResourceClaim,
): readonly Edit[] {
  return alikeClaims(trial, claim).claims.map((object) => ({
    object,
    edit: (changed: KubeObject) => edit(changed as ResourceClaim),
  }));
}

/** `the pod`, or `the pods of group g`. */
export function podsText({ members, pod }: Trial): string {
  return members.length < 2 ? "the pod" : `the pods of group ${pod.spec.schedulingGroup?.podGroupName}`;
}

/** Edits the pod and the waiting pods of its group. */
export function podEdits({ members }: Trial, edit: (pod: Pod) => Pod): readonly Edit[] {
  return members.map((object) => ({ object, edit: (changed: KubeObject) => edit(changed as Pod) }));
}
