import { checkLegacyAddress } from "../../../checks/address.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import type { KubernetesVersion } from "../../../features/features.ts";
import type { PodSpec } from "../../../generated/core/v1.ts";
import { dnsSubdomain, dnsSubdomainWithUnderscores } from "../../../values/names.ts";

const maxServers = 3;
const maxPaths = 32;
const maxCharacters = 2048;

export function checkDns(errors: FieldErrors, spec: PodSpec, version: KubernetesVersion): void {
  const config = spec.dnsConfig;
  const servers = config?.nameservers ?? [];
  if (spec.dnsPolicy === "None") {
    if (!config) {
      errors.required("must provide `dnsConfig` when `dnsPolicy` is None");
      return;
    }
    if (servers.length === 0) {
      errors.at("nameservers").required("must provide at least one DNS nameserver when `dnsPolicy` is None");
      return;
    }
  }
  if (servers.length > maxServers) {
    errors.at("nameservers").invalid(servers, `must not have more than ${maxServers} nameservers`);
  }
  servers.forEach((server, index) => {
    checkLegacyAddress(errors.at("nameservers").index(index), server, { version });
  });
  const searches = config?.searches ?? [];
  if (searches.length > maxPaths) {
    errors.at("searches").invalid(searches, `must not have more than ${maxPaths} search paths`);
  }
  if (searches.join(" ").length > maxCharacters) {
    const detail = `must not have more than ${maxCharacters} characters (including spaces) in the search list`;
    errors.at("searches").invalid(searches, detail);
  }
  searches.forEach((search, index) => {
    if (search === ".") return;
    errors.at("searches").index(index).check(dnsSubdomainWithUnderscores, search.replace(/\.$/, ""));
  });
  (config?.options ?? []).forEach(({ name }, index) => {
    if (!name) errors.at("options").index(index).required("must not be empty");
  });
}

export function checkHostAliases(errors: FieldErrors, spec: PodSpec, version: KubernetesVersion): void {
  (spec.hostAliases ?? []).forEach(({ ip = "", hostnames }, index) => {
    checkLegacyAddress(errors.index(index).at("ip"), ip, { version });
    (hostnames ?? []).forEach((name, place) => {
      errors.index(index).at("hostnames").index(place).check(dnsSubdomain, name);
    });
  });
}
