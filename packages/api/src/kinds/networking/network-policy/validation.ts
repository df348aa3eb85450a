import {
  checkLegacyNetwork,
  isStrictlyWithin,
  type LegacyOptions,
  networkFamily,
} from "../../../checks/address.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkLabelSelector } from "../../../checks/nodeselector.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type {
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
} from "../../../generated/networking/v1.ts";
import { dnsSubdomain, isPortName } from "../../../values/names.ts";
import { checkPort } from "../../core/pod/probes.ts";

/** NetworkPolicy. */

function checkPolicyPort(
  errors: FieldErrors,
  path: string,
  { protocol, port, endPort }: NetworkPolicyPort,
): void {
  const protocols = ["TCP", "UDP", "SCTP"];
  if (protocol !== undefined && protocol !== null && !protocols.includes(protocol)) {
    errors.notSupported(`${path}.protocol`, protocol, protocols);
  }
  const ends = endPort !== undefined && endPort !== null;
  if (typeof port === "number") {
    checkPort(errors, `${path}.port`, port);
    if (!ends) return;
    if (endPort < port) errors.invalid(`${path}.endPort`, port, "must be greater than or equal to `port`");
    checkPort(errors, `${path}.endPort`, endPort);
  } else if (typeof port === "string") {
    if (ends) errors.invalid(`${path}.endPort`, endPort, "may not be specified when `port` is non-numeric");
    errors.check(isPortName, `${path}.port`, port);
  } else if (ends)
    errors.invalid(`${path}.endPort`, endPort, "may not be specified when `port` is not specified");
}

function checkBlock(
  errors: FieldErrors,
  path: string,
  { cidr, except }: IPBlock,
  options: LegacyOptions,
): void {
  if (!cidr) {
    errors.required(`${path}.cidr`);
    return;
  }
  checkLegacyNetwork(errors, `${path}.cidr`, cidr, options);
  if (networkFamily(cidr) === undefined) return;
  (except ?? []).forEach((part, index) => {
    const at = `${path}.except[${index}]`;
    checkLegacyNetwork(errors, at, part, options);
    if (isStrictlyWithin(part, cidr) === false) {
      errors.invalid(at, part, "must be a strict subset of `cidr`");
    }
  });
}

function checkPeer(errors: FieldErrors, path: string, peer: NetworkPolicyPeer, options: LegacyOptions): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  checkLabelSelector(errors, `${path}.podSelector`, podSelector);
  checkLabelSelector(errors, `${path}.namespaceSelector`, namespaceSelector);
  if (ipBlock) checkBlock(errors, `${path}.ipBlock`, ipBlock, options);
  if (!podSelector && !namespaceSelector && !ipBlock) errors.required(path, "must specify a peer");
  else if (ipBlock && (podSelector || namespaceSelector)) {
    errors.forbidden(path, "may not specify both ipBlock and another peer");
  }
}

/** All networks that a policy names. */
function networksOf({ spec }: NetworkPolicy): string[] {
  const peers = [
    ...(spec?.ingress ?? []).flatMap(({ from }) => from ?? []),
    ...(spec?.egress ?? []).flatMap(({ to }) => to ?? []),
  ];
  return peers.flatMap(({ ipBlock }) => (ipBlock ? [ipBlock.cidr ?? "", ...(ipBlock.except ?? [])] : []));
}

function checkSpec(errors: FieldErrors, { spec }: NetworkPolicy, options: LegacyOptions): void {
  checkLabelSelector(errors, "spec.podSelector", spec?.podSelector);
  const rules = (
    path: string,
    ports: readonly NetworkPolicyPort[] = [],
    peers: readonly NetworkPolicyPeer[] = [],
    name = "",
  ): void => {
    ports.forEach((port, index) => {
      checkPolicyPort(errors, `${path}.ports[${index}]`, port);
    });
    peers.forEach((peer, index) => {
      checkPeer(errors, `${path}.${name}[${index}]`, peer, options);
    });
  };
  (spec?.ingress ?? []).forEach(({ ports, from }, index) => {
    rules(`spec.ingress[${index}]`, ports ?? [], from ?? [], "from");
  });
  (spec?.egress ?? []).forEach(({ ports, to }, index) => {
    rules(`spec.egress[${index}]`, ports ?? [], to ?? [], "to");
  });
  const types = spec?.policyTypes ?? [];
  if (types.length > 2)
    errors.invalid("spec.policyTypes", types, "may not specify more than two policyTypes");
  types.forEach((type, index) => {
    const known = ["Ingress", "Egress"];
    if (!known.includes(type)) errors.notSupported(`spec.policyTypes[${index}]`, type, known);
  });
}

export const networkPolicyValidation = {
  create(errors: FieldErrors, policy: NetworkPolicy, { features: { version } }: ValidationContext): void {
    checkObject(errors, policy, dnsSubdomain);
    checkSpec(errors, policy, { version });
  },
  update(
    errors: FieldErrors,
    policy: NetworkPolicy,
    old: NetworkPolicy,
    { features: { version } }: ValidationContext,
  ): void {
    checkObjectUpdate(errors, policy, old);
    checkSpec(errors, policy, { version, before: networksOf(old) });
  },
};
