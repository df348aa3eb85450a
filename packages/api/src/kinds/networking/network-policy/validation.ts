import {
  checkLegacyNetwork,
  type LegacyOptions,
  networkFamily,
  strictlyWithin,
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

function checkPolicyPort(errors: FieldErrors, { protocol, port, endPort }: NetworkPolicyPort): void {
  const protocols = ["TCP", "UDP", "SCTP"];
  if (protocol !== undefined && protocol !== null && !protocols.includes(protocol)) {
    errors.at("protocol").notSupported(protocol, protocols);
  }
  const ends = endPort !== undefined && endPort !== null;
  if (typeof port === "number") {
    checkPort(errors.at("port"), port);
    if (!ends) return;
    if (endPort < port) errors.at("endPort").invalid(port, "must be greater than or equal to `port`");
    checkPort(errors.at("endPort"), endPort);
  } else if (typeof port === "string") {
    if (ends) errors.at("endPort").invalid(endPort, "may not be specified when `port` is non-numeric");
    errors.at("port").check(isPortName, port);
  } else if (ends) errors.at("endPort").invalid(endPort, "may not be specified when `port` is not specified");
}

function checkBlock(errors: FieldErrors, { cidr, except }: IPBlock, options: LegacyOptions): void {
  if (!cidr) {
    errors.at("cidr").required();
    return;
  }
  checkLegacyNetwork(errors.at("cidr"), cidr, options);
  if (networkFamily(cidr) === undefined) return;
  const isWithin = strictlyWithin(cidr);
  (except ?? []).forEach((part, index) => {
    const here = errors.at("except").index(index);
    checkLegacyNetwork(here, part, options);
    if (isWithin(part) === false) {
      here.invalid(part, "must be a strict subset of `cidr`");
    }
  });
}

function checkPeer(errors: FieldErrors, peer: NetworkPolicyPeer, options: LegacyOptions): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  checkLabelSelector(errors.at("podSelector"), podSelector);
  checkLabelSelector(errors.at("namespaceSelector"), namespaceSelector);
  if (ipBlock) checkBlock(errors.at("ipBlock"), ipBlock, options);
  if (!podSelector && !namespaceSelector && !ipBlock) errors.required("must specify a peer");
  else if (ipBlock && (podSelector || namespaceSelector)) {
    errors.forbidden("may not specify both ipBlock and another peer");
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
  checkLabelSelector(errors.at("spec.podSelector"), spec?.podSelector);
  const rules = (
    path: string,
    ports: readonly NetworkPolicyPort[] = [],
    peers: readonly NetworkPolicyPeer[] = [],
    name = "",
  ): void => {
    ports.forEach((port, index) => {
      checkPolicyPort(errors.at(path).at("ports").index(index), port);
    });
    peers.forEach((peer, index) => {
      checkPeer(errors.at(`${path}.${name}`).index(index), peer, options);
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
    errors.at("spec.policyTypes").invalid(types, "may not specify more than two policyTypes");
  types.forEach((type, index) => {
    const known = ["Ingress", "Egress"];
    if (!known.includes(type)) errors.at("spec.policyTypes").index(index).notSupported(type, known);
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
    checkSpec(errors, policy, { version, before: new Set(networksOf(old)) });
  },
};
