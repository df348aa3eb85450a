import type { StoredRow } from "../kinds/resources.ts";
import type { Strategy } from "../kinds/strategy.ts";
import { apiservices } from "./apiservices.ts";
import { certificatesigningrequests } from "./certificatesigningrequests.ts";
import { clustertrustbundles } from "./clustertrustbundles.ts";
import { customresourcedefinitions } from "./customresourcedefinitions.ts";
import { daemonsets } from "./daemonsets.ts";
import { devicetaintrules } from "./devicetaintrules.ts";
import { endpointslices } from "./endpointslices.ts";
import { events } from "./events.ts";
import { jobs } from "./jobs.ts";
import { limitranges } from "./limitranges.ts";
import { namespaces } from "./namespaces.ts";
import { nodes } from "./nodes.ts";
import { podcertificaterequests } from "./podcertificaterequests.ts";
import { pods } from "./pods.ts";
import {
  admissionPolicies,
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicyBindings,
} from "./policy-rights.ts";
import { priorityclasses } from "./priorityclasses.ts";
import { replicationcontrollers } from "./replicationcontrollers.ts";
import { resourceclaims } from "./resourceclaims.ts";
import { secrets } from "./secrets.ts";
import type { ServiceAllocator } from "./service/allocator.ts";
import { serviceaccounts } from "./serviceaccounts.ts";
import { servicesStrategy } from "./services.ts";
import { persistentvolumeclaims, persistentvolumes } from "./volumes.ts";

const general: Strategy = {};

/**
 * Returns a function that finds the strategy of a kind: the one that the kind brings along, or that of its file here.
 * Without either the general rules hold.
 */
export function strategyLookup(allocator: ServiceAllocator): (kind: StoredRow) => Strategy {
  const all: typeof strategies = { ...strategies, services: servicesStrategy(allocator) };
  return ({ model, resource }) => model?.strategy ?? all[resource] ?? general;
}

const strategies: Readonly<Record<string, Strategy | undefined>> = {
  apiservices,
  certificatesigningrequests,
  clustertrustbundles,
  customresourcedefinitions,
  daemonsets,
  devicetaintrules,
  endpointslices,
  events,
  jobs,
  limitranges,
  mutatingadmissionpolicies: admissionPolicies,
  mutatingadmissionpolicybindings: mutatingAdmissionPolicyBindings,
  namespaces,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  podcertificaterequests,
  pods,
  priorityclasses,
  replicationcontrollers,
  resourceclaims,
  secrets,
  serviceaccounts,
  validatingadmissionpolicies: admissionPolicies,
  validatingadmissionpolicybindings: validatingAdmissionPolicyBindings,
};
