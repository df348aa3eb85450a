import { changed } from "../../../checks/warnings/common.ts";
import type { StatefulSet } from "../../../generated/apps/v1.ts";
import type { KubeObject } from "../../../objects/object.ts";
import { claimWarnings } from "../../core/persistent-volume-claim/warnings.ts";
import { podWarnings } from "../../core/pod/warnings.ts";

export function statefulSetWarnings(object: StatefulSet, old: KubeObject | undefined): string[] {
  const { spec } = object;
  // Upstream writes this one name with a capital on updates.
  const name = old === undefined ? "" : ".Spec";
  return [
    ...(changed(object, old) ? podWarnings("spec.template.", spec?.template) : []),
    ...(spec?.volumeClaimTemplates ?? []).flatMap((claim, index) =>
      claimWarnings(`spec.volumeClaimTemplates[${index}]${name}`, claim.spec),
    ),
    ...((spec?.revisionHistoryLimit ?? 0) < 0
      ? [
          "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
        ]
      : []),
  ];
}
