import type { Features } from "@dray/api";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { Rbac } from "../authorization/rbac.ts";
import type { Storage } from "../storage/storage.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { taintNodesByCondition } from "./node-taint.ts";
import { priority } from "./priority.ts";
import { rbacEscalation } from "./rbac-escalation.ts";
import { serviceAccount } from "./service-account.ts";
import { defaultTolerationSeconds } from "./tolerations.ts";

/** What plugins may ask. */
export interface AdmissionContext {
  readonly storage: Storage;
  readonly features: Features;
  readonly rbac: Rbac;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly now: () => number;
  readonly newId: () => string;
}

/** All plugins in the order of kube-apiserver. */
export function admissionPlugins(context: AdmissionContext): AdmissionPlugin[] {
  return [
    namespaceLifecycle(context),
    serviceAccount(context),
    nodeRestriction(context),
    taintNodesByCondition(),
    priority(context),
    defaultTolerationSeconds(),
    rbacEscalation(context),
  ];
}
